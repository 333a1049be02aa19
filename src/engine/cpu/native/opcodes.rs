//! The instructions on vectors, by the fields of Intel's manual.

use super::encode::Opcode;

/// A constant for each row: the map of opcodes, the prefix, the bit W with VEX and with EVEX, the opcode.
macro_rules! opcodes {
    ($($(#[$doc:meta])* $name:ident: $map:literal $prefix:literal $vex:literal $wide:literal $code:literal;)+) => {
        $($(#[$doc])* pub(super) const $name: Opcode =
            Opcode { map: $map, prefix: $prefix, vex_wide: $vex == 1, wide: $wide == 1, code: $code };)+
    };
}

opcodes! {
    VMOVUPD: 1 1 0 1 0x10;
    VMOVUPD_TO: 1 1 0 1 0x11;
    VMOVUPS: 1 0 0 0 0x10;
    VMOVUPS_TO: 1 0 0 0 0x11;
    VMOVAPD: 1 1 0 1 0x28;
    /// Writes past the cache.
    VMOVNTPD_TO: 1 1 0 1 0x2B;
    VMOVNTPS_TO: 1 0 0 0 0x2B;
    VMOVSD_TO: 1 3 0 1 0x11;
    VMOVSS_TO: 1 2 0 0 0x11;
    VBROADCASTSD: 2 1 0 1 0x19;
    VBROADCASTSS: 2 1 0 0 0x18;
    /// Moves of AVX2 under a mask.
    VMASKMOVPD: 2 1 0 0 0x2D;
    VMASKMOVPD_TO: 2 1 0 0 0x2F;
    VMASKMOVPS: 2 1 0 0 0x2C;
    VMASKMOVPS_TO: 2 1 0 0 0x2E;
    VGATHERDPD: 2 1 1 1 0x92;
    VGATHERDPS: 2 1 0 0 0x92;
    VSCATTERDPD: 2 1 1 1 0xA2;
    VSCATTERDPS: 2 1 0 0 0xA2;

    VADDPD: 1 1 0 1 0x58;
    VADDPS: 1 0 0 0 0x58;
    VSUBPD: 1 1 0 1 0x5C;
    VSUBPS: 1 0 0 0 0x5C;
    VMULPD: 1 1 0 1 0x59;
    VMULPS: 1 0 0 0 0x59;
    VDIVPD: 1 1 0 1 0x5E;
    VDIVPS: 1 0 0 0 0x5E;
    VMINPD: 1 1 0 1 0x5D;
    VMINPS: 1 0 0 0 0x5D;
    VMAXPD: 1 1 0 1 0x5F;
    VMAXPS: 1 0 0 0 0x5F;
    VSCALEFPD: 2 1 0 1 0x2C;
    VSCALEFPS: 2 1 0 0 0x2C;
    VSQRTPD: 1 1 0 1 0x51;
    VSQRTPS: 1 0 0 0 0x51;
    /// The result is a factor, and the last operand is added.
    VFMADD213PD: 2 1 1 1 0xA8;
    VFMADD213PS: 2 1 0 0 0xA8;
    /// The result is the term.
    VFMADD231PD: 2 1 1 1 0xB8;
    VFMADD231PS: 2 1 0 0 0xB8;

    VPADDQ: 1 1 0 1 0xD4;
    VPADDD: 1 1 0 0 0xFE;
    VPSUBQ: 1 1 0 1 0xFB;
    VPSUBD: 1 1 0 0 0xFA;
    VPANDQ: 1 1 0 1 0xDB;
    VPANDD: 1 1 0 0 0xDB;
    VPORQ: 1 1 0 1 0xEB;
    VPORD: 1 1 0 0 0xEB;
    /// The bits of the last operand that the first has not.
    VPANDNQ: 1 1 0 1 0xDF;
    /// Products of the low halves of 64 bits.
    VPMULUDQ: 1 1 0 1 0xF4;
    VPMULLQ: 2 1 0 1 0x40;
    VPMULLD: 2 1 0 0 0x40;
    VPMINSQ: 2 1 0 1 0x39;
    VPMINSD: 2 1 0 0 0x39;
    VPMAXSQ: 2 1 0 1 0x3D;
    VPMAXSD: 2 1 0 0 0x3D;
    VPXORQ: 1 1 0 1 0xEF;
    VPXORD: 1 1 0 0 0xEF;
    /// Shifts by a number; the result is the operand before the last, and which of them it is stands in its place.
    SHIFTQ: 1 1 0 1 0x73;
    SHIFTD: 1 1 0 0 0x72;

    /// Comparisons, whose last byte says which; the result is a mask.
    VCMPPD: 1 1 0 1 0xC2;
    VCMPPS: 1 0 0 0 0xC2;
    VPCMPQ: 3 1 0 1 0x1F;
    VPCMPD: 3 1 0 0 0x1F;
    VPCMPUQ: 3 1 0 1 0x1E;
    VPCMPUD: 3 1 0 0 0x1E;
    /// Comparisons of AVX2, whose result is a vector.
    VPCMPGTQ: 2 1 0 0 0x37;
    VPCMPGTD: 1 1 0 0 0x66;
    VPCMPEQQ: 2 1 0 0 0x29;
    VPCMPEQD: 1 1 0 0 0x76;
    /// The last operand where the mask holds, else the first.
    VBLENDMPD: 2 1 0 1 0x65;
    VBLENDMPS: 2 1 0 0 0x65;
    /// The same with AVX2, whose mask is a vector.
    VBLENDVPD: 3 1 0 0 0x4B;
    VBLENDVPS: 3 1 0 0 0x4A;
    VPTESTMQ: 2 1 0 1 0x27;
    VPTESTMD: 2 1 0 0 0x27;

    /// Operations on masks.
    KNOTW: 1 0 0 0 0x44;
    KANDW: 1 0 0 0 0x41;
    KORW: 1 0 0 0 0x45;
    KXORW: 1 0 0 0 0x47;
    KXNORW: 1 0 0 0 0x46;
    /// Compares masks, or signs, with zero.
    KORTESTW: 1 0 0 0 0x98;
    KORTESTB: 1 1 0 0 0x98;
    VTESTPD: 2 1 0 0 0x0F;
    VTESTPS: 2 1 0 0 0x0E;
    KMOVW: 1 0 0 0 0x90;
    KMOVW_TO: 1 0 0 0 0x91;

    VROUNDPD: 3 1 0 1 0x09;
    VROUNDPS: 3 1 0 0 0x08;
    VCVTPD2PS: 1 1 0 1 0x5A;
    VCVTPS2PD: 1 0 0 0 0x5A;
    VCVTQQ2PD: 1 2 0 1 0xE6;
    VCVTDQ2PD: 1 2 0 0 0xE6;
    VCVTDQ2PS: 1 0 0 0 0x5B;
    VPMOVSXDQ: 2 1 0 0 0x25;
    VPSHUFD: 1 1 0 0 0x70;
    /// Any function of three bits, the first of which is the result's; the last byte is its table.
    VPTERNLOGQ: 3 1 0 1 0x25;
    VPTERNLOGD: 3 1 0 0 0x25;
    /// Between vectors and general registers.
    VMOVQ_TO: 1 1 1 1 0x7E;
    VMOVQ: 1 1 1 1 0x6E;
    VPBROADCASTQ: 2 1 0 1 0x59;
    VPBROADCASTD: 2 1 0 0 0x58;
    VPBROADCASTQ_FROM: 2 1 0 1 0x7C;
    VPBROADCASTD_FROM: 2 1 0 0 0x7C;
    KMOVW_BITS: 1 0 0 0 0x93;
    VMOVMSKPD: 1 1 0 0 0x50;
    VMOVMSKPS: 1 0 0 0 0x50;
    VMOVSD: 1 3 0 1 0x10;
    VMOVSS: 1 2 0 0 0x10;
    VADDSD: 1 3 0 1 0x58;
    VADDSS: 1 2 0 0 0x58;
    VGATHERQPD: 2 1 1 1 0x93;
    VGATHERQPS: 2 1 0 0 0x93;
    VMOVDQU8: 1 3 0 0 0x6F;
    VMOVDQU8_TO: 1 3 0 0 0x7F;
    VPMOVZXBQ: 2 1 0 0 0x32;
    VPMOVZXBD: 2 1 0 0 0x31;
    VPERM2F128: 3 1 0 0 0x06;
    VSHUFF64X2: 3 1 0 1 0x23;
    /// The upper one of two doubles, and one of four floats.
    VMOVHPD: 1 1 0 1 0x16;
    VMOVHPD_TO: 1 1 0 1 0x17;
    VINSERTPS: 3 1 0 0 0x21;
    VEXTRACTPS: 3 1 0 0 0x17;
    /// Parts of 16 bytes, and of 32.
    VINSERTF128: 3 1 0 0 0x18;
    VINSERTF64X4: 3 1 0 1 0x1A;
    VEXTRACTF128: 3 1 0 0 0x19;

    /// On one element.
    VSUBSD: 1 3 0 1 0x5C;
    VSUBSS: 1 2 0 0 0x5C;
    VMULSD: 1 3 0 1 0x59;
    VMULSS: 1 2 0 0 0x59;
    VDIVSD: 1 3 0 1 0x5E;
    VDIVSS: 1 2 0 0 0x5E;
    VMINSD: 1 3 0 1 0x5D;
    VMINSS: 1 2 0 0 0x5D;
    VMAXSD: 1 3 0 1 0x5F;
    VMAXSS: 1 2 0 0 0x5F;
    VSQRTSD: 1 3 0 1 0x51;
    VSQRTSS: 1 2 0 0 0x51;
    VFMADD231SD: 2 1 1 1 0xB9;
    VFMADD231SS: 2 1 0 0 0xB9;
    VCMPSD: 1 3 0 1 0xC2;
    VCMPSS: 1 2 0 0 0xC2;
    /// Compares, with the answer in the flags.
    VUCOMISD: 1 1 0 1 0x2E;
    VUCOMISS: 1 0 0 0 0x2E;
    VCVTSD2SS: 1 3 0 1 0x5A;
    VCVTSS2SD: 1 2 0 0 0x5A;
    /// From a general register of 64 bits, and of 32.
    VCVTSI2SD_Q: 1 3 1 1 0x2A;
    VCVTSI2SD_D: 1 3 0 0 0x2A;
    VCVTSI2SS_Q: 1 2 1 1 0x2A;
    VCVTSI2SS_D: 1 2 0 0 0x2A;
}
