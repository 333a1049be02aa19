//! The float types: the places of their bits, and the constants of their precision.

use super::lanes::Real;
use crate::operation::{Binary, Once, Unary};

/// The parts that differ only by the places of exponent and mantissa.
macro_rules! bits {
    ($t:ident, $bits:ident, $run:ident, mantissa: $mantissa:literal, bias: $bias:literal,
        offset: $offset:literal, tail: $tail:literal, sign_of_exponent: $sign:literal, whole: $whole:literal,
        root_half: $root_half:literal) => {
        const SIGN: u64 = 1 << ($bits::BITS - 1);
        const EXPONENT: u64 = ($bits::MAX << $mantissa) as u64;
        const HEAD: u64 = ($bits::MAX << $tail) as u64;
        const BIAS: u64 = $bias;
        const OFFSET: u64 = $offset;
        const SIGN_OF_EXPONENT: u64 = $sign;
        const WHOLE: $t = $whole;
        const WHOLE_AND_SIGN: $t = Self::WHOLE + $sign as $t;
        const ROOT_HALF: u64 = $root_half;
        fn by_table(op: Unary, x: $t) -> $t {
            op.$run(Once([x]))
        }
        fn pair_by_table(op: Binary, a: $t, b: $t) -> $t {
            op.$run(Once([a, b]))
        }
    };
}

impl Real for f64 {
    const ROUND: f64 = 6755399441055744.0;
    const SMALLEST_NORMAL: f64 = f64::MIN_POSITIVE;
    const ENLARGE: (f64, f64) = (18014398509481984.0, 54.0);
    const ONE_IS_LOST: f64 = 1e18;
    const EXPONENTS: (f64, f64) = (-746.0, 711.0);
    const KEPT_EXPONENTS: (f64, f64) = (-708.5299499248886, Self::EXPONENTS.1);
    const KEPT_BINARY_EXPONENTS: (f64, f64) = (-1022.1926450779424, 1025.0);
    const TANGENT_IS_ONE: f64 = 20.0;
    const ONE_PARTS: (f64, f64) = (1.0, 0.0);
    const LOG2_E: f64 = std::f64::consts::LOG2_E;
    const LOG2_E_PARTS: (f64, f64) = (1.4426950216293335, 1.9259629911266175e-8);
    const LOG10_E_PARTS: (f64, f64) = (0.4342944771051407, 4.798111141615973e-9);
    const LN_2: f64 = std::f64::consts::LN_2;
    const LN_2_PARTS: (f64, f64) = (0.6931471805582987, 1.6465949582897082e-12);
    const LOG10_2_PARTS: (f64, f64) = (0.30102999565860955, 5.371644767466998e-12);
    const TWO_OVER_PI: f64 = std::f64::consts::FRAC_2_PI;
    const FUSED_HALF_PI: ([f64; 4], f64) =
        ([std::f64::consts::FRAC_PI_2, 6.123234262925839e-17, -2.6718908186452923e-24, 8.4784276603689e-32], 1e9);
    const PLAIN_HALF_PI: ([f64; 4], f64) =
        ([1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32], 1e6);
    const HALF_PI: (f64, f64) = (std::f64::consts::FRAC_PI_2, 6.123233995736766e-17);
    const EXPONENTIAL: &'static [f64] = &[
        0.5,
        0.16666666666666602,
        0.041666666666620035,
        0.008333333333388355,
        0.0013888888920482111,
        0.00019841269709390853,
        2.4801516388051424e-5,
        2.755742506035545e-6,
        2.7622208783617226e-7,
        2.5045893917143248e-8,
    ];
    const LOGARITHM: &'static [f64] = &[
        0.33333333333333337,
        -0.2499999999999993,
        0.19999999999993184,
        -0.1666666666669733,
        0.14285714287601134,
        -0.12499999997117374,
        0.11111110908975864,
        -0.0999999999475828,
        0.09090919914369915,
        -0.08333345154889092,
        0.07691987233619846,
        -0.07142229064679916,
        0.06671995744376115,
        -0.06265078835047307,
        0.05836980161982374,
        -0.053679156774410826,
        0.053716458312777646,
        -0.06130587992788277,
        0.05668198431045042,
        -0.025069094183570454,
    ];
    const SINE: &'static [f64] = &[
        -0.16666666666666666,
        0.008333333333330918,
        -0.00019841269836712495,
        2.755731607868067e-6,
        -2.5051126876085338e-8,
        1.5917771759341917e-10,
    ];
    const COSINE: &'static [f64] = &[
        0.041666666666666664,
        -0.0013888888888887378,
        2.4801587298736863e-5,
        -2.755731725679604e-7,
        2.087614315990944e-09,
        -1.1382408754153254e-11,
    ];
    const ARCTANGENT: &'static [f64] = &[
        -0.3333333333333333,
        0.19999999999995316,
        -0.1428571428462415,
        0.11111111011855054,
        -0.09090904440257445,
        0.07692179995767841,
        -0.066644665508066,
        0.05857759839391455,
        -0.05083418645382925,
        0.039173122608293254,
        -0.019105372975400336,
    ];
    const ARCSINE: &'static [f64] = &[
        0.16666666666666669,
        0.07499999999998433,
        0.04464285714635561,
        0.030381944138516817,
        0.02237217294274726,
        0.017352392706346254,
        0.013971213196475301,
        0.011479175171049853,
        0.010322829371691055,
        0.005457440499079528,
        0.017401064081047784,
        -0.014852182118030889,
        0.02875805719743414,
    ];
    const HYPERBOLIC_SINE: &'static [f64] = &[
        0.16666666666666666,
        0.008333333333333299,
        0.00019841269841324198,
        2.7557319191381816e-6,
        2.5052117695907823e-8,
        1.6057679623801638e-10,
        7.746178593018827e-13,
    ];
    const ERROR: &'static [f64] = &[
        0.12837916709551256,
        -0.37612638903183543,
        0.11283791670945006,
        -0.02686617064323777,
        0.0052239776071164225,
        -0.0008548325975389692,
        0.00012055294904839707,
        -1.492473690741966e-5,
        1.6447424703317362e-6,
        -1.6208483801871705e-7,
        1.3720064546777686e-8,
        -7.795898827002142e-10,
    ];
    const COMPLEMENTARY_ERROR: &'static [f64] = &[
        0.25539567631050575,
        -0.4271858474139579,
        0.24165819424246987,
        -0.07897858101585306,
        0.0037328924034908386,
        0.006997461747787682,
        -0.0008471431980010505,
        -0.0009819773218074338,
        4.355420114343326e-5,
        0.0001743669871998868,
        2.7543133820831952e-5,
        -2.7647416961970852e-5,
        -1.4067484171933863e-5,
        1.820474097656324e-6,
        3.916706348131928e-6,
    ];
    const ERROR_IS_ONE: f64 = 6.0;
    bits!(f64, u64, run_f64, mantissa: 52, bias: 1023, offset: 1049, tail: 32, sign_of_exponent: 2048,
        whole: 4503599627370496.0, root_half: 0x3fe6_a09e_667f_3bcd);
}

impl Real for f32 {
    const ROUND: f32 = 12582912.0;
    const SMALLEST_NORMAL: f32 = f32::MIN_POSITIVE;
    const ENLARGE: (f32, f32) = (33554432.0, 25.0);
    const ONE_IS_LOST: f32 = 1e9;
    const EXPONENTS: (f32, f32) = (-104.0, 90.0);
    const KEPT_EXPONENTS: (f32, f32) = (-87.47007, Self::EXPONENTS.1);
    const KEPT_BINARY_EXPONENTS: (f32, f32) = (-126.192_64, 129.0);
    const TANGENT_IS_ONE: f32 = 10.0;
    const ONE_PARTS: (f32, f32) = (1.0, 0.0);
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    const LOG2_E_PARTS: (f32, f32) = (1.4423828, 0.0003122284);
    const LOG10_E_PARTS: (f32, f32) = (0.4342041, 9.038034e-5);
    const LN_2: f32 = std::f32::consts::LN_2;
    const LN_2_PARTS: (f32, f32) = (0.69311523, 3.1946183e-5);
    const LOG10_2_PARTS: (f32, f32) = (0.3010254, 4.605039e-6);
    const TWO_OVER_PI: f32 = std::f32::consts::FRAC_2_PI;
    const FUSED_HALF_PI: ([f32; 4], f32) =
        ([std::f32::consts::FRAC_PI_2, -4.3655746e-8, -5.5592864e-11, -5.1453115e-14], 30000.0);
    const PLAIN_HALF_PI: ([f32; 4], f32) = ([1.5708008, -4.454516e-6, 6.077272e-11, -1.7151245e-15], 1500.0);
    const HALF_PI: (f32, f32) = (std::f32::consts::FRAC_PI_2, -4.371139e-8);
    const EXPONENTIAL: &'static [f32] = &[0.5, 0.16666667, 0.041666463, 0.0083333105, 0.0013933771, 0.00019891125];
    const LOGARITHM: &'static [f32] = &[
        0.3333333,
        -0.24999997,
        0.20000717,
        -0.16667807,
        0.14249007,
        -0.12425523,
        0.11685785,
        -0.11481212,
        0.069725186,
    ];
    const SINE: &'static [f32] = &[-0.16666664, 0.008332745, -0.00019587249];
    const COSINE: &'static [f32] = &[0.041666664, -0.00138883, 2.4547298e-5];
    const ARCTANGENT: &'static [f32] = &[-0.3333333, 0.19999532, -0.14263672, 0.107406735, -0.06441818];
    const ARCSINE: &'static [f32] = &[0.16666673, 0.07498855, 0.045001384, 0.026554503, 0.038085114];
    const HYPERBOLIC_SINE: &'static [f32] = &[0.16666667, 0.008333339, 0.00019838102, 2.8062802e-6];
    const ERROR: &'static [f32] =
        &[0.12837917, -0.37612626, 0.11283594, -0.026854211, 0.0051890872, -0.00080168643, 7.875875e-5];
    const COMPLEMENTARY_ERROR: &'static [f32] =
        &[0.25539568, -0.42718583, 0.24165821, -0.07897852, 0.0037321404, 0.0069948523, -0.00083658315, -0.0009441375];
    const ERROR_IS_ONE: f32 = 4.0;
    bits!(f32, u32, run_f32, mantissa: 23, bias: 127, offset: 150, tail: 12, sign_of_exponent: 256,
        whole: 8388608.0, root_half: 0x3f35_04f3);
}
