//! The encoder's bytes against those of the assembler of binutils, for each row of the table in each form that is written.
//!
//! Each instruction has a block of 64 bytes, in the encoder's code and in the assembler's, to be compared one by one.

use super::encode::*;
use super::opcodes as op;
use std::process::Command;

const GENERALS: [&str; 16] =
    ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];
const HALVES: [&str; 16] = [
    "eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d",
    "r15d",
];
const BYTES: [&str; 16] =
    ["al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b", "r15b"];
/// The registers of tests: as bases, the fourth, fifth, twelfth and thirteenth have forms of their own.
const BASES: [u8; 9] = [0, 3, 4, 5, 7, 8, 12, 13, 15];
const VECTORS: [u8; 11] = [0, 3, 5, 7, 8, 12, 13, 15, 16, 21, 31];
/// Distances around those that one byte holds, alone or in units of 4 to 64 bytes.
const DISTANCES: [i32; 22] = [
    0, 1, 64, -64, 127, 128, -128, -129, 508, 512, -512, -516, 1016, 1024, -1024, -1032, 8128, 8192, -8192, -8256,
    1_000_000, -1_000_000,
];
/// Places of constants behind the code.
const CONSTANTS: [u32; 4] = [0, 8, 32, 1000];
/// The bytes of a block.
const BLOCK: usize = 64;

/// Opcodes for elements of eight bytes, and of four; their names; the widths, the kinds of the last operand, the operands, and the
/// numbers that end the instruction.
///
/// A name is that of VEX and of EVEX, or before and after `|` are the two, where one may be missing; in it, `*` is the letter of
/// floats and `#` that of integers. Widths are `x`, `y` and `z`. Kinds are `r` for a register, `q` for a general one, `m` for as
/// many bytes in memory as the width has, `s` for one element in memory, `b` for one that stands for all, `c` for a constant, and
/// `g` for places that a vector moves. Of operands, `R` is the result, `F` the first one and `L` the last one. `K`, `J` and `P`
/// are the same where they are masks, and `H` and `Q` are the result and the last one of half the width, `X` is the last one of
/// 16 bytes, `G` and `E` the general register of its number. `M` is the mask on elements, `N` the number and `I` the register in
/// its upper half.
type Row = (&'static [Opcode], &'static str, &'static str, &'static str, &'static str, &'static [u8]);

const ROWS: &[Row] = &[
    (&[op::VMOVUPD, op::VMOVUPS], "vmovup*", "xyz", "rmc", "R, L", &[]),
    (&[op::VMOVUPD, op::VMOVUPS], "|vmovup*", "xyz", "m", "R{M}{z}, L", &[]),
    (&[op::VMOVUPD_TO, op::VMOVUPS_TO], "vmovup*", "xyz", "m", "L, R", &[]),
    (&[op::VMOVUPD_TO, op::VMOVUPS_TO], "|vmovup*", "xyz", "m", "L{M}, R", &[]),
    (&[op::VMOVNTPD_TO, op::VMOVNTPS_TO], "vmovntp*", "xyz", "m", "L, R", &[]),
    (&[op::VMOVAPD], "vmovapd", "xyz", "r", "R, L", &[]),
    (&[op::VMOVSD_TO, op::VMOVSS_TO], "vmovs*", "x", "s", "L, R", &[]),
    (&[op::VBROADCASTSD, op::VBROADCASTSS], "vbroadcasts*", "xyz", "sc", "R, L", &[]),
    (&[op::VMASKMOVPD, op::VMASKMOVPS], "vmaskmovp*|", "xy", "m", "R, F, L", &[]),
    (&[op::VMASKMOVPD_TO, op::VMASKMOVPS_TO], "vmaskmovp*|", "xy", "m", "L, F, R", &[]),
    (&[op::VGATHERDPD, op::VGATHERDPS], "vgatherdp*|", "xy", "g", "R, L, F", &[]),
    (&[op::VGATHERDPD, op::VGATHERDPS], "|vgatherdp*", "xyz", "g", "R{M}, L", &[]),
    (&[op::VSCATTERDPD, op::VSCATTERDPS], "|vscatterdp*", "xyz", "g", "L{M}, R", &[]),
    (&[op::VADDPD, op::VADDPS], "vaddp*", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VSUBPD, op::VSUBPS], "vsubp*", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VMULPD, op::VMULPS], "vmulp*", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VDIVPD, op::VDIVPS], "vdivp*", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VMINPD, op::VMINPS], "vminp*", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VMAXPD, op::VMAXPS], "vmaxp*", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VSCALEFPD, op::VSCALEFPS], "|vscalefp*", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VSQRTPD, op::VSQRTPS], "vsqrtp*", "xyz", "rmbc", "R, L", &[]),
    (&[op::VFMADD213PD, op::VFMADD213PS], "vfmadd213p*", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VFMADD231PD, op::VFMADD231PS], "vfmadd231p*", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VPADDQ, op::VPADDD], "vpadd#", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VPSUBQ, op::VPSUBD], "vpsub#", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VPANDQ, op::VPANDD], "vpand|vpand#", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VPORQ, op::VPORD], "vpor|vpor#", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VPXORQ, op::VPXORD], "vpxor|vpxor#", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VPANDNQ], "vpandn|vpandnq", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VPMULUDQ], "vpmuludq", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VPMULLQ, op::VPMULLD], "|vpmull#", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VPMINSQ, op::VPMINSD], "|vpmins#", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VPMAXSQ, op::VPMAXSD], "|vpmaxs#", "xyz", "rmbc", "R, F, L", &[]),
    (&[op::VPMULLD], "vpmulld|", "xy", "rmc", "R, F, L", &[]),
    (&[op::VPMINSD], "vpminsd|", "xy", "rmc", "R, F, L", &[]),
    (&[op::VPMAXSD], "vpmaxsd|", "xy", "rmc", "R, F, L", &[]),
    (&[op::VPCMPGTQ, op::VPCMPGTD], "vpcmpgt#|", "xy", "rmc", "R, F, L", &[]),
    (&[op::VPCMPEQQ, op::VPCMPEQD], "vpcmpeq#|", "xy", "rmc", "R, F, L", &[]),
    (&[op::SHIFTQ, op::SHIFTD], "vpsll#", "xyz", "r", "F, L, N", &[1, 23, 63]),
    (&[op::SHIFTQ, op::SHIFTD], "vpsrl#", "xyz", "r", "F, L, N", &[1, 23, 63]),
    (&[op::VCMPPD, op::VCMPPS], "vcmpp*|", "xy", "rmc", "R, F, L, N", &[0, 0x11, 0x12, 0x16]),
    (&[op::VCMPPD, op::VCMPPS], "|vcmpp*", "xyz", "rmbc", "K, F, L, N", &[0, 0x11, 0x12, 0x16]),
    (&[op::VPCMPQ, op::VPCMPD], "|vpcmp#", "xyz", "rmbc", "K, F, L, N", &[0, 1, 2, 6]),
    (&[op::VPCMPUQ, op::VPCMPUD], "|vpcmpu#", "xyz", "rmbc", "K, F, L, N", &[1]),
    (&[op::VBLENDMPD, op::VBLENDMPS], "|vblendmp*", "xyz", "rmbc", "R{M}, F, L", &[]),
    (&[op::VBLENDVPD, op::VBLENDVPS], "vblendvp*|", "xy", "rmc", "R, F, L, I", &[0, 0x50, 0x80, 0xF0]),
    (&[op::VPTESTMQ, op::VPTESTMD], "|vptestm#", "xyz", "rmbc", "K, F, L", &[]),
    (&[op::VTESTPD, op::VTESTPS], "vtestp*|", "xy", "r", "R, L", &[]),
    (&[op::VROUNDPD, op::VROUNDPS], "vroundp*|vrndscalep*", "xyz", "rmbc", "R, L, N", &[9]),
    (&[op::VCVTPD2PS], "vcvtpd2ps", "xyz", "r", "H, L", &[]),
    (&[op::VCVTPS2PD], "vcvtps2pd", "xyz", "r", "R, Q", &[]),
    (&[op::VCVTQQ2PD], "|vcvtqq2pd", "xyz", "r", "R, L", &[]),
    (&[op::VCVTDQ2PD], "vcvtdq2pd", "xyz", "r", "R, Q", &[]),
    (&[op::VCVTDQ2PS], "vcvtdq2ps", "xyz", "r", "R, L", &[]),
    (&[op::VPMOVSXDQ], "vpmovsxdq", "xyz", "r", "R, Q", &[]),
    (&[op::VPBROADCASTQ], "vpbroadcastq", "xyz", "r", "R, X", &[]),
    (&[op::VPBROADCASTD], "vpbroadcastd", "xyz", "r", "R, X", &[]),
    (&[op::VPBROADCASTQ_FROM], "|vpbroadcastq", "xyz", "q", "R, G", &[]),
    (&[op::VPBROADCASTD_FROM], "|vpbroadcastd", "xyz", "q", "R, E", &[]),
    (&[op::VMOVQ], "vmovq", "x", "q", "R, G", &[]),
    (&[op::VMOVQ_TO], "vmovq", "x", "q", "G, R", &[]),
    (&[op::VMOVSD, op::VMOVSS], "vmovs*", "x", "s", "R, L", &[]),
    (&[op::VADDSD, op::VADDSS], "vadds*", "x", "rs", "R, F, L", &[]),
    (&[op::VSUBSD, op::VSUBSS], "vsubs*|", "x", "rsc", "R, F, L", &[]),
    (&[op::VMULSD, op::VMULSS], "vmuls*|", "x", "rsc", "R, F, L", &[]),
    (&[op::VDIVSD, op::VDIVSS], "vdivs*|", "x", "rsc", "R, F, L", &[]),
    (&[op::VMINSD, op::VMINSS], "vmins*|", "x", "rsc", "R, F, L", &[]),
    (&[op::VMAXSD, op::VMAXSS], "vmaxs*|", "x", "rsc", "R, F, L", &[]),
    (&[op::VSQRTSD, op::VSQRTSS], "vsqrts*|", "x", "rsc", "R, F, L", &[]),
    (&[op::VFMADD231SD, op::VFMADD231SS], "vfmadd231s*|", "x", "rsc", "R, F, L", &[]),
    (&[op::VCMPSD, op::VCMPSS], "vcmps*|", "x", "rsc", "R, F, L, N", &[0, 3, 4, 0x11, 0x12, 0x1D, 0x1E]),
    (&[op::VUCOMISD, op::VUCOMISS], "vucomis*|", "x", "rsc", "R, L", &[]),
    (&[op::VCVTSD2SS], "vcvtsd2ss|", "x", "r", "R, F, L", &[]),
    (&[op::VCVTSS2SD], "vcvtss2sd|", "x", "r", "R, F, L", &[]),
    (&[op::VCVTSI2SD_Q, op::VCVTSI2SS_Q], "vcvtsi2s*|", "x", "q", "R, F, G", &[]),
    (&[op::VCVTSI2SD_D, op::VCVTSI2SS_D], "vcvtsi2s*|", "x", "q", "R, F, E", &[]),
    (&[op::VMOVDQU8], "|vmovdqu8", "xyz", "m", "R{M}{z}, L", &[]),
    (&[op::VMOVDQU8_TO], "|vmovdqu8", "xyz", "m", "L{M}, R", &[]),
    (&[op::VPSHUFD], "vpshufd", "xyz", "r", "R, L, N", &[0x4E, 0xB1]),
    (&[op::VPTERNLOGQ, op::VPTERNLOGD], "|vpternlog#", "xyz", "rmbc", "R, F, L, N", &[0xD8]),
    (&[op::VPERM2F128], "vperm2f128|", "y", "r", "R, F, L, N", &[1]),
    (&[op::VSHUFF64X2], "|vshuff64x2", "yz", "r", "R, F, L, N", &[1, 0xEE]),
    (&[op::VMOVHPD], "vmovhpd", "x", "s", "R, F, L", &[]),
    (&[op::VMOVHPD_TO], "vmovhpd", "x", "s", "L, R", &[]),
    (&[op::VINSERTPS], "vinsertps", "x", "s", "R, F, L, N", &[0x10, 0x20, 0x30]),
    (&[op::VEXTRACTPS], "vextractps", "x", "s", "L, R, N", &[1, 2, 3]),
    (&[op::VINSERTF128], "vinsertf128|vinsertf32x4", "y", "r", "R, F, X, N", &[1]),
    (&[op::VINSERTF64X4], "|vinsertf64x4", "z", "r", "R, F, Q, N", &[1]),
    (&[op::VEXTRACTF128], "vextractf128|vextractf32x4", "y", "r", "X, R, N", &[1]),
    (&[op::VEXTRACTF128], "|vextractf32x4", "z", "r", "X, R, N", &[1, 2, 3]),
    (&[op::KANDW], "kandw|", "y", "r", "K, J, P", &[]),
    (&[op::KORW], "korw|", "y", "r", "K, J, P", &[]),
    (&[op::KXORW], "kxorw|", "y", "r", "K, J, P", &[]),
    (&[op::KXNORW], "kxnorw|", "y", "r", "K, J, P", &[]),
    (&[op::KNOTW], "knotw|", "x", "r", "K, P", &[]),
    (&[op::KORTESTW], "kortestw|", "x", "r", "K, P", &[]),
    (&[op::KORTESTB], "kortestb|", "x", "r", "K, P", &[]),
    (&[op::KMOVW], "kmovw|", "x", "r", "K, P", &[]),
    (&[op::KMOVW], "kmovw|", "x", "m", "K, L", &[]),
    (&[op::KMOVW_TO], "kmovw|", "x", "m", "L, K", &[]),
];

/// Instructions as texts, and the code that the encoder writes for each. In a text, `@` is where its block begins.
#[derive(Default)]
struct Sheet {
    texts: Vec<String>,
    codes: Vec<Vec<u8>>,
}

impl Sheet {
    fn add(&mut self, text: impl Into<String>, write: impl FnOnce(&mut Assembler)) {
        let mut code = Assembler::default();
        write(&mut code);
        self.texts.push(text.into());
        self.codes.push(code.finish(&[]).bytes);
    }

    /// Compares the code with the assembler's.
    fn check(&self, name: &str) {
        let mut source = String::from(".intel_syntax noprefix\n.text\n");
        for (block, text) in self.texts.iter().enumerate() {
            let text = text.replace('@', &format!("block{block}"));
            source.push_str(&format!(".balign {BLOCK}, 0xCC\nblock{block}:\n{text}\n"));
        }
        source.push_str(&format!(".balign {BLOCK}, 0xCC\n"));
        let expected = assembled(name, &source);
        let (mut rest, mut wrong) = (&expected[..], Vec::new());
        for (text, ours) in self.texts.iter().zip(&self.codes) {
            let (theirs, after) = rest.split_at(ours.len().min(rest.len()));
            rest = after;
            if ours != theirs {
                wrong.push(format!("{text}: {} instead of {}", hex(ours), hex(theirs)));
            }
        }
        wrong.truncate(20);
        assert!(wrong.is_empty(), "the first of those that differ:\n{}", wrong.join("\n"));
    }
}

/// The bytes before those that fill a block.
fn hex(code: &[u8]) -> String {
    let end = code.iter().rposition(|&byte| byte != 0xCC).map_or(0, |last| last + 1);
    code[..end].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// The code of a text.
fn assembled(name: &str, source: &str) -> Vec<u8> {
    let path = |kind: &str| std::env::temp_dir().join(format!("deltaray-encode-{name}-{}.{kind}", std::process::id()));
    let (text, object) = (path("s"), path("o"));
    std::fs::write(&text, source).expect("the text is written");
    let output = Command::new("as").args(["--64", "-O0", "-o"]).arg(&object).arg(&text).output();
    let output = output.unwrap_or_else(|error| panic!("the assembler `as` of binutils does not run: {error}"));
    let bytes = std::fs::read(&object);
    let _ = [text, object].map(std::fs::remove_file);
    assert!(output.status.success(), "`as` refuses the text: {}", String::from_utf8_lossy(&output.stderr));
    code_of(&bytes.expect("`as` has written the code"))
}

/// The bytes of the section of a file of ELF that can run.
fn code_of(file: &[u8]) -> Vec<u8> {
    let eight = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().expect("eight bytes"));
    let (first, count) = (eight(0x28) as usize, u16::from_le_bytes([file[0x3C], file[0x3D]]) as usize);
    let section = (0..count).map(|number| first + 64 * number).find(|&at| eight(at + 8) & 4 != 0).expect("code");
    let (start, bytes) = (eight(section + 0x18) as usize, eight(section + 0x20) as usize);
    file[start..start + bytes].to_vec()
}

fn place_text(place: Place, width: Width) -> String {
    let index = match place.index {
        None => String::new(),
        Some((Index::General(General(index)), scale)) => format!("+{}*{scale}", GENERALS[index as usize]),
        Some((Index::Vector(index), scale)) => format!("+{}*{scale}", vector(index.0, width)),
    };
    format!("[{}{index}{:+}]", GENERALS[place.base.0 as usize], place.distance)
}

/// The text of a constant, which is behind the block.
fn constant_text(constant: u32) -> String {
    format!("[rip+@+{}]", BLOCK as u32 + constant)
}

fn vector(number: u8, width: Width) -> String {
    format!("{}mm{number}", ["x", "y", "z"][width as usize])
}

fn half(width: Width) -> Width {
    if width == Width::B64 { Width::B32 } else { Width::B16 }
}

/// Bases with all distances, alone and with an index.
fn places() -> Vec<Place> {
    let mut places = Vec::new();
    for (number, base) in BASES.into_iter().map(General).enumerate() {
        places.extend(DISTANCES.map(|distance| Place::at(base, distance)));
        // The stack pointer is no index.
        for (scale, index) in BASES.into_iter().filter(|&index| index != 4).enumerate() {
            let index = Some((Index::General(General(index)), 1 << ((scale + number) % 4)));
            places.extend(DISTANCES.map(|distance| Place { base, index, distance }));
        }
    }
    places
}

/// Three of these numbers: the same, and others.
fn triples(numbers: &[u8]) -> impl Iterator<Item = [u8; 3]> {
    let one = |at: usize| numbers[at % numbers.len()];
    (0..numbers.len()).flat_map(move |at| [0, 1, 3].map(|by| [one(at), one(at + by), one(at + 2 * by)]))
}

/// An instruction with all kinds of last operands and of one width, with VEX or EVEX.
fn write(
    sheet: &mut Sheet,
    (op, element, name): (Opcode, u32, &str),
    (wide, width): (bool, Width),
    (kind, operands, numbers): (char, &str, &[u8]),
    places: &[Place],
) {
    let count = match wide {
        true => 11,
        false if operands.contains('P') => 4,
        false => 8,
    };
    // A gather's registers differ.
    for [result, first, last] in triples(&VECTORS[..count]).filter(|three| kind != 'g' || three[0] != three[1]) {
        let turn = sheet.texts.len();
        let (mut place, constant) = (places[turn * 37 % places.len()], CONSTANTS[turn % CONSTANTS.len()]);
        if kind == 'g' {
            place.index = Some((Index::Vector(Vector(last)), 1 << (turn % 4)));
        }
        let to_all = format!("{{1to{}}}", width.bytes() / element);
        // Constants for all elements take turns with places.
        let (operand, text) = match kind {
            'r' => (Operand::Register(Vector(last)), vector(last, width)),
            'q' => (Operand::Register(Vector(last & 15)), String::new()),
            'c' => (Operand::Constant(constant), constant_text(constant)),
            'b' if turn.is_multiple_of(3) => (Operand::ConstantEverywhere(constant), constant_text(constant) + &to_all),
            'b' => (Operand::Everywhere(place, element), place_text(place, width) + &to_all),
            'm' => (Operand::Memory(place, width.bytes()), place_text(place, width)),
            _ => (Operand::Memory(place, element), place_text(place, if element == 8 { half(width) } else { width })),
        };
        let number = numbers.get(turn % numbers.len().max(1)).copied();
        let by = 1 + turn as u8 % 7;
        let mask = Masked { by: operands.contains('M').then_some(MaskRegister(by)), zero: operands.contains("{z}") };
        // Which shift it is stands where others have the result.
        let result = match name {
            _ if name.starts_with("vpsll") => 6,
            _ if name.starts_with("vpsrl") => 2,
            _ if operands.contains('K') => result & 7,
            _ => result,
        };
        let first = if operands.contains(['F', 'J']) { first } else { 0 };
        let operand_text = |letter| match letter {
            'R' => vector(result, width),
            'H' => vector(result, half(width)),
            'K' => format!("k{result}"),
            'J' => format!("k{first}"),
            'P' => format!("k{last}"),
            'F' => vector(first, width),
            'L' => text.clone(),
            'Q' => vector(last, half(width)),
            'X' => vector(last, Width::B16),
            'G' => GENERALS[last as usize & 15].to_string(),
            'E' => HALVES[last as usize & 15].to_string(),
            'M' => format!("k{by}"),
            'N' => number.expect("a number").to_string(),
            'I' => vector(number.expect("a register") >> 4, width),
            other => other.to_string(),
        };
        let operands: String = operands.chars().map(operand_text).collect();
        // Of registers, the assembler swaps those that can be swapped where two bytes then do for a prefix of three.
        let prefix = if wide { "{evex} " } else { ["", "{vex3} "][usize::from(kind == 'r' && last > 7)] };
        sheet.add(format!("{prefix}{name} {operands}"), |code| {
            code.trailing(u8::from(number.is_some()));
            match wide {
                true => code.evex(op, width, mask, result, first, operand),
                false => code.vex(op, width, result, first, operand),
            }
            if let Some(number) = number {
                code.number(number);
            }
        });
    }
}

#[test]
fn instructions_on_vectors_are_those_of_the_assembler() {
    let (mut sheet, places) = (Sheet::default(), places());
    for &(opcodes, names, widths, kinds, operands, numbers) in ROWS {
        let (of_vex, of_evex) = names.split_once('|').unwrap_or((names, names));
        for (&op, (element, float, integer)) in opcodes.iter().zip([(8, "d", "q"), (4, "s", "d")]) {
            for (wide, name) in [(false, of_vex), (true, of_evex)] {
                let name = name.replace('*', float).replace('#', integer);
                let element = if ["vinsertps", "vextractps"].contains(&&name[..]) { 4 } else { element };
                for (letter, width) in [('x', Width::B16), ('y', Width::B32), ('z', Width::B64)] {
                    // One of two doubles is repeated by an instruction of another name.
                    let is_there = (wide || letter != 'z') && (name != "vbroadcastsd" || letter != 'x');
                    if !name.is_empty() && is_there && widths.contains(letter) {
                        for kind in kinds.chars().filter(|&kind| wide || kind != 'b') {
                            let (which, how) = ((op, element, &name[..]), (kind, operands, numbers));
                            write(&mut sheet, which, (wide, width), how, &places);
                        }
                    }
                }
            }
        }
    }
    sheet.check("vectors");
}

const CONDITIONS: [(&str, Condition); 10] = [
    ("b", Condition::Below),
    ("ae", Condition::AtLeast),
    ("e", Condition::Equal),
    ("ne", Condition::Different),
    ("be", Condition::NotAbove),
    ("a", Condition::Above),
    ("l", Condition::Less),
    ("ge", Condition::NotLess),
    ("le", Condition::NotGreater),
    ("g", Condition::Greater),
];

/// The name of an instruction, and the method that writes it.
type One<T> = (&'static str, fn(&mut Assembler, T));
type Two<T> = (&'static str, fn(&mut Assembler, General, T));

#[test]
fn instructions_on_general_registers_are_those_of_the_assembler() {
    let mut sheet = Sheet::default();
    let ones: [One<General>; 3] = [("push", Assembler::push), ("pop", Assembler::pop), ("neg", Assembler::negate)];
    // Of the two directions, the encoder reads the last operand from where memory could be.
    let twos: [Two<General>; 8] = [
        ("{load} mov", Assembler::copy),
        ("{load} sub", Assembler::subtract),
        ("{load} cmp", Assembler::compare),
        ("{load} add", Assembler::add),
        ("{load} and", Assembler::and),
        ("{load} or", Assembler::or),
        ("imul", Assembler::multiply),
        ("cmovne", |code, result, from| code.copy_if(Condition::Different, result, from)),
    ];
    let numbered: [Two<i32>; 2] = [("add", Assembler::add_number), ("and", Assembler::and_number)];
    let more: [Two<i32>; 2] = [("xor", Assembler::xor_number), ("cmp", Assembler::compare_number)];
    for (number, name) in (0..).zip(GENERALS) {
        let register = General(number);
        for (instruction, write) in ones {
            sheet.add(format!("{instruction} {name}"), |code| write(code, register));
        }
        sheet.add(format!("call {name}"), |code| code.call_register(register));
        sheet.add(format!("kmovw k{}, {}", number & 7, HALVES[number as usize]), |code| {
            code.mask_from(MaskRegister(number & 7), register);
        });
        for (bits, half) in [1, 0x80, 0x8000].map(|bits| (bits, HALVES[number as usize])) {
            // For the first register alone, the assembler has a shorter form.
            if number > 0 {
                let prefix = if number < 8 { "{rex} " } else { "" };
                sheet.add(format!("{prefix}test {half}, {bits}"), |code| code.test_bits(register, bits));
            }
        }
        for (instruction, write) in numbered.into_iter().chain(more) {
            for value in [0, 1, -1, 64, -64, 127, -128, 128, -129, 1016, 1_000_000, i32::MAX, i32::MIN] {
                // For the first register alone, the assembler has a form that is a byte shorter, with numbers of four bytes.
                if number > 0 || i8::try_from(value).is_ok() {
                    sheet.add(format!("{instruction} {name}, {value}"), |code| write(code, register, value));
                }
            }
        }
        let small = [0, 1, -1, 0xFFFF, i64::from(i32::MAX), i64::from(i32::MIN)].map(|value| ("mov", value));
        let large = [1 << 31, -(1 << 31) - 1, 0x0123_4567_89AB_CDEF, i64::MAX, i64::MIN].map(|value| ("movabs", value));
        for (instruction, value) in small.into_iter().chain(large) {
            sheet.add(format!("{instruction} {name}, {value}"), |code| code.set(register, value));
        }
        for constant in CONSTANTS {
            let text = format!("lea {name}, {}", constant_text(constant));
            sheet.add(text, |code| code.address_of_constant(register, constant));
        }
        for (condition, which) in CONDITIONS {
            let prefix = if number < 4 { "{rex} " } else { "" };
            let text = format!("{prefix}set{condition} {}", BYTES[number as usize]);
            sheet.add(text, |code| code.set_if(which, register));
        }
        for (other, of) in (0..).zip(GENERALS) {
            let (half, byte) = (HALVES[other as usize], BYTES[other as usize]);
            sheet.add(format!("movsxd {name}, {half}"), |code| code.low_half(register, General(other)));
            sheet.add(format!("movzx {name}, {byte}"), |code| code.low_byte(register, General(other)));
            let prefix = if number < 8 && other < 8 { "{rex} " } else { "" };
            sheet.add(format!("{{load}} {prefix}cmp {}, {half}", HALVES[number as usize]), |code| {
                code.compare_halves(register, General(other));
            });
            for (instruction, write) in twos {
                sheet.add(format!("{instruction} {name}, {of}"), |code| write(code, register, General(other)));
            }
            let by = [1000, -1_000_000, i32::MAX, i32::MIN][other as usize % 4];
            sheet.add(format!("imul {name}, {of}, {by}"), |code| code.times(register, General(other), by));
            let constant = CONSTANTS[other as usize % 4];
            sheet.add(format!("pdep {name}, {of}, {}", constant_text(constant)), |code| {
                code.deposit_constant(register, General(other), constant);
            });
            for (op, text) in [(op::VMOVMSKPD, "vmovmskpd"), (op::VMOVMSKPS, "vmovmskps")] {
                let text = format!("{text} {}, ymm{other}", HALVES[number as usize]);
                sheet.add(text, |code| code.bits_of(op, Width::B32, register, other));
            }
            let text = format!("kmovw {}, k{}", HALVES[number as usize], other & 7);
            sheet.add(text, |code| code.bits_of(op::KMOVW_BITS, Width::B16, register, other & 7));
            let count = (number * 5 + other * 3) % 16;
            let [name, of, by] = [number, other, count].map(|number| HALVES[number as usize]);
            let text = format!("bzhi {name}, {of}, {by}");
            sheet.add(text, |code| code.low_bits(register, General(other), General(count)));
        }
    }
    for (turn, &place) in places().iter().enumerate() {
        let (number, text) = (turn % 16, place_text(place, Width::B16));
        let (register, name, half) = (General(number as u8), GENERALS[number], HALVES[number]);
        sheet.add(format!("mov {name}, {text}"), |code| code.load(register, place));
        sheet.add(format!("mov {text}, {name}"), |code| code.store(place, register));
        sheet.add(format!("lea {name}, {text}"), |code| code.address(register, place));
        sheet.add(format!("add {name}, {text}"), |code| code.add_memory(register, place));
        sheet.add(format!("movzx {name}, byte ptr {text}"), |code| code.load_byte(register, place));
        sheet.add(format!("rex.w mov {text}, {}", BYTES[number]), |code| code.store_byte(place, register));
        sheet.add(format!("mov {half}, {text}"), |code| code.load_half(register, place));
        sheet.add(format!("mov {text}, {half}"), |code| code.store_half(place, register));
        sheet.add(format!("prefetcht1 byte ptr {text}"), |code| code.prefetch(place, false));
        sheet.add(format!("prefetchw byte ptr {text}"), |code| code.prefetch(place, true));
    }
    sheet.add("sfence", |code| code.fence());
    sheet.check("generals");
}

#[test]
fn jumps_are_those_of_the_assembler() {
    let mut sheet = Sheet::default();
    type Write = Box<dyn Fn(&mut Assembler, Label)>;
    let mut jumps: Vec<(String, Write)> =
        vec![("{disp32} jmp".into(), Box::new(Assembler::jump)), ("call".into(), Box::new(Assembler::call))];
    for (name, condition) in CONDITIONS {
        jumps.push((format!("{{disp32}} j{name}"), Box::new(move |code, to| code.jump_if(condition, to))));
    }
    let backs = |code: &mut Assembler, count: usize| (0..count).for_each(|_| code.back());
    for ((name, jump), between) in jumps.iter().flat_map(|jump| [0, 1, 20, 300].map(|between| (jump, between))) {
        sheet.add(format!("{name} @end\n.fill {between}, 1, 0xC3\n@end: ret"), |code| {
            let end = code.label();
            jump(code, end);
            backs(code, between);
            code.place(end);
            code.back();
        });
        sheet.add(format!(".fill {between}, 1, 0xC3\n{name} @"), |code| {
            let start = code.label();
            code.place(start);
            backs(code, between);
            jump(code, start);
        });
    }
    sheet.add("vzeroupper\nret", Assembler::leave);
    // Code after other code, where both have labels.
    let text = "push rbp\n@a: {disp32} jb @a\n{disp32} jmp @b\nlea rax, [rip+@+72]\n@b: ret";
    sheet.add(text, |code| {
        code.push(General(5));
        let (start, mut body) = (code.label(), Assembler::default());
        code.place(start);
        code.jump_if(Condition::Below, start);
        let end = body.label();
        body.jump(end);
        body.address_of_constant(General(0), 8);
        body.place(end);
        body.back();
        code.append(body);
    });
    sheet.check("jumps");
}
