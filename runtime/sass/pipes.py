"""Which pipe of a multiprocessor executes an instruction.

After the metrics of Nsight Compute's documentation ("Pipelines"), and instruction names of the
CUDA Binary Utilities documentation ("Instruction Set Reference").
"""

from __future__ import annotations

from opweave.runtime.sass.listing import SassInstruction

PIPES: dict[str, str] = {
    "fma": "FADD FFMA FMUL FSWZADD IMAD FADD2 FFMA2 FMUL2 IMUL IDP IDP4A",
    "fp16": "HADD2 HFMA2 HMUL2 HSET2 HSETP2 HMNMX2 VHMNMX",
    "alu": "IADD3 IADD LOP3 LOP PLOP3 SHF SHL SHR LEA ISETP IMNMX SEL MOV PRMT SGXT BMSK IABS "
    "FSETP FSEL FSET FMNMX FMNMX3 FCHK F2FP VIADD VIMNMX VIMNMX3 VIADDMNMX VABSDIFF VABSDIFF4 "
    "P2R R2P CS2R VOTE ISCADD I2IP F2IP I2FP MOV32I LOP32I IADD32I ICMP FCMP XMAD LEPC CSEL "
    "PSETP VHMNMX3 BREV2",
    "xu": "MUFU I2F F2I F2F FRND I2I POPC FLO BREV",
    "fp64": "DADD DFMA DMUL DSETP DMNMX",
    "tensor": "HMMA IMMA BMMA DMMA QMMA OMMA HGMMA IGMMA QGMMA BGMMA UTCHMMA UTCIMMA UTCQMMA "
    "WARPGROUP WARPGROUPSET",
    "lsu": "LDG STG LDS STS LDL STL LD ST ATOM ATOMS ATOMG RED REDG LDSM STSM LDGSTS LDGDEPBAR "
    "DEPBAR CCTL CCTLL SHFL MEMBAR ERRBAR CGAERRBAR FENCE SYNCS UTMALDG UTMASTG UTMACMDFLUSH "
    "UTMAPF UBLKCP S2R S2UR LDC ATOMSG MATCH QSPC REDUX CREDUX R2UR",
    "uniform": "UMOV UIADD3 UIMAD ULOP3 USHF ULEA UISETP USEL UPLOP3 UPRMT ULDC LDCU VOTEU UFLO "
    "UPOPC UBREV UP2UR UR2UP USGXT UBMSK UCLEA R2UR UIMNMX UVIMNMX UCGABAR_ARV UCGABAR_WAIT "
    "UIABS UFSETP UFADD UFMUL UFFMA UF2F UI2F UF2I USETMAXREG ELECT UIADD UVIADD",
    "tex": "TEX TLD TLD4 TMML TXD TXQ SULD SUST SURED SUATOM",
    "branch": "BRA BRX JMP JMX CALL RET EXIT BSSY BSYNC BREAK BMOV BAR WARPSYNC YIELD NANOSLEEP "
    "KILL BPT RPCMOV NOP PMTRIG RTT ACQBULK ENDCOLLECTIVE BRXU JMXU PREEXIT",
}
PIPE: dict[str, str] = {root: pipe for pipe, roots in PIPES.items() for root in roots.split()}
OTHER = "other"


def pipe_of(one: SassInstruction) -> str:
    """The pipe; "other" for an instruction that the table does not name."""
    if one.root in ("HFMA2", "IMAD") and "MOV" not in one.modifiers and "MMA" in one.modifiers:
        return "fma"  # HFMA2.MMA: a move of constants that ptxas balances onto this pipe
    return PIPE.get(one.root, OTHER)


def computes_data(one: SassInstruction) -> bool:
    """It computes floats, or reads memory: what follows from it is data, not control."""
    return (
        one.root[0] in "FHD"
        or one.root == "I2FP"
        or pipe_of(one) in ("fp16", "fp64", "xu", "tensor", "lsu", "tex")
    )
