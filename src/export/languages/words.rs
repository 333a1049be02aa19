//! Words that mean something else where programs are written as Rust, C, or OpenCL C.

/// Words of Rust, some names that every program knows, and names of crates.
const RUST: &str = "
    as async await box break const continue crate dyn else enum extern false fn for gen if impl in let loop match
    mod move mut pub ref return self static struct super trait true try type union unsafe use where while yield
    abstract become do final macro override priv typeof unsized virtual Self Some None Ok Err core std libm
";

/// Words of C, and since headers are for that too, of C++.
const KEYWORDS: &str = "
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    bool true false asm typeof linux unix alignas alignof and and_eq bitand bitor catch char16_t char32_t class
    compl concept const_cast constexpr decltype delete dynamic_cast explicit export friend mutable namespace new
    noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast requires
    static_assert static_cast std template this thread_local throw try typeid typename using virtual wchar_t xor
    xor_eq
";

/// Names of the functions' own parameters, and of the function that programs begin with.
const OWN: &str = "main arg res iw w mem";

/// Names of the headers that are included, and of macros of others that are often included before: no array can be called
/// so either.
const HEADERS: &str = "
    NULL INFINITY NAN HUGE_VAL HUGE_VALF HUGE_VALL FP_NAN FP_INFINITE FP_ZERO FP_SUBNORMAL FP_NORMAL MATH_ERRNO
    MATH_ERREXCEPT size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t
    uintptr_t intmax_t uintmax_t INT8_MAX INT16_MAX INT32_MAX INT64_MAX INT8_MIN INT16_MIN INT32_MIN INT64_MIN
    UINT8_MAX UINT16_MAX UINT32_MAX UINT64_MAX SIZE_MAX INT8_C INT16_C INT32_C INT64_C UINT8_C UINT16_C UINT32_C
    UINT64_C INTMAX_C UINTMAX_C M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI M_2_SQRTPI
    M_SQRT2 M_SQRT1_2 double_t float_t fpclassify isfinite isinf isnan isnormal signbit isgreater isgreaterequal
    isless islessequal islessgreater isunordered j0 j1 jn y0 y1 yn gamma signgam index rindex time div abs labs
    signal read write memcpy memmove memset memcmp memchr memccpy mempcpy strcpy strncpy strcat strncat strcmp
    strcoll strncmp strxfrm strchr strcspn strpbrk strrchr strspn strstr strtok strerror strlen strdup strndup
    strcasecmp strncasecmp strsep strsignal stpcpy stpncpy bcmp bcopy bzero ffs strfry swab basename strverscmp
    drem significand scalb finite errno assert stdin stdout stderr
";

/// The functions of C's mathematical library, which are there for three types each.
const MATHEMATICS: &str = "
    acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp ilogb ldexp log log10
    log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc lgamma tgamma ceil floor nearbyint
    rint lrint llrint round lround llround trunc fmod remainder remquo copysign nan nextafter nexttoward fdim
    fmax fmin fma exp10 pow10 sincos
";

/// Headers, and devices of Windows. Programs could hide some of the former, where the compiler looks for files beside them; the
/// latter can't be files.
const FILES: &str = "
    aux con nul prn com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9
    assert complex ctype errno fenv float inttypes limits locale math setjmp signal stdarg stdbool stddef stdint
    stdio stdlib string tgmath time wchar wctype unistd
";

/// Other names of C's library and its systems': programs are linked with them, so that no function can be called so.
const LIBRARY: &str = "
    environ isalnum isalpha isblank iscntrl isdigit isgraph islower isprint
    ispunct isspace isupper isxdigit tolower toupper feclearexcept fegetexceptflag feraiseexcept fesetexceptflag
    fetestexcept fegetround fesetround fegetenv feholdexcept fesetenv feupdateenv imaxabs imaxdiv strtoimax
    strtoumax wcstoimax wcstoumax setlocale localeconv setjmp longjmp raise remove rename tmpfile tmpnam fclose
    fflush fopen freopen setbuf setvbuf fprintf fscanf printf scanf snprintf sprintf sscanf vfprintf vfscanf
    vprintf vscanf vsnprintf vsprintf vsscanf fgetc fgets fputc fputs getc getchar gets putc putchar puts ungetc
    fread fwrite fgetpos fseek fsetpos ftell rewind clearerr feof ferror perror fileno popen pclose atof atoi
    atol atoll strtod strtof strtold strtol strtoll strtoul strtoull rand srand random srandom calloc free
    malloc realloc alloca abort atexit exit getenv putenv setenv unsetenv system bsearch qsort llabs ldiv lldiv
    mblen mbtowc wctomb mbstowcs wcstombs clock difftime mktime asctime ctime gmtime localtime strftime fwprintf
    fwscanf swprintf swscanf vfwprintf vfwscanf vswprintf vswscanf vwprintf vwscanf wprintf wscanf fgetwc fgetws
    fputwc fputws fwide getwc getwchar putwc putwchar ungetwc wcstod wcstof wcstold wcstol wcstoll wcstoul
    wcstoull wcscpy wcsncpy wmemcpy wmemmove wcscat wcsncat wcscmp wcscoll wcsncmp wcsxfrm wmemcmp wcschr
    wcscspn wcspbrk wcsrchr wcsspn wcsstr wcstok wmemchr wcslen wmemset wcsftime btowc wctob mbsinit mbrlen
    mbrtowc wcrtomb mbsrtowcs wcsrtombs iswalnum iswalpha iswblank iswcntrl iswdigit iswgraph iswlower iswprint
    iswpunct iswspace iswupper iswxdigit iswctype wctype towlower towupper towctrans wctrans open close creat
    fork pipe dup dup2 link unlink kill wait waitpid sleep usleep alarm pause select poll socket bind connect
    listen accept send recv stat fstat lstat access chdir mkdir rmdir sync getpid execl execv execve mmap munmap
    fcntl ioctl lseek
";

/// Functions of complex numbers, and functions that systems have in addition to C's mathematical library, all for three types
/// each.
const MORE_MATHEMATICS: &str = "
    cacos casin catan ccos csin ctan cacosh casinh catanh ccosh csinh ctanh cexp clog clog10 cabs cpow csqrt
    carg cimag conj cproj creal
    lgamma_r j0 j1 jn y0 y1 yn gamma drem significand scalb finite roundeven nextup nextdown llogb fmaxmag fminmag
    totalorder canonicalize fromfp ufromfp fadd fsub fmul fdiv fsqrt ffma dadd dsub dmul ddiv dsqrt dfma
";

/// Words that mean something in OpenCL C in addition to those of C, and built-in functions with names that programs may have.
const OPENCL: &str = "
    kernel global local constant half uchar ushort uint ulong item distance length normalize cross dot mix step
    sign select mad max min clamp degrees radians
";

/// Names that arrays can't have, and further names that functions can't have.
pub(super) struct Words {
    pub(super) anywhere: Vec<String>,
    pub(super) functions: Vec<String>,
}

fn listed(words: &str) -> Vec<String> {
    words.split_whitespace().map(str::to_string).collect()
}

/// Functions, each for three types.
fn typed(functions: &str) -> Vec<String> {
    functions.split_whitespace().flat_map(|name| ["", "f", "l"].map(|ending| format!("{name}{ending}"))).collect()
}

/// Words of Rust.
pub(super) fn rust() -> Words {
    Words { anywhere: listed(RUST), functions: Vec::new() }
}

/// Words of C.
pub(super) fn c() -> Words {
    Words {
        anywhere: [listed(KEYWORDS), listed(OWN), listed(HEADERS), typed(MATHEMATICS)].concat(),
        functions: [listed(FILES), listed(LIBRARY), typed(MORE_MATHEMATICS)].concat(),
    }
}

/// Words of OpenCL C.
pub(super) fn opencl() -> Words {
    Words { anywhere: [c().anywhere, listed(OPENCL)].concat(), functions: Vec::new() }
}
