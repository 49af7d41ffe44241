import SignatureCore
import Testing

/// Signatures over `header.payload` by one RSA key, made with its private exponent in Python so that the padding could
/// be chosen at will. Only the first is PKCS #1 v1.5 with SHA-256.
@Suite struct RSAPaddingTests {
    static let modulus =
        "xdvhU3htI6-iyne-YRcSfLgf7JHMWjjwudoWtp_fVvc1WVdTbAyDMH_8h_J8q6Dj7mKGaT6JSxzTrHZga7nCnsH-nh"
        + "xCka1BRxbfzc4vc7bm8yeauEB7qp89w2G0dvJfxHr8TdOG2lb9LCvT8U-PZUyF0k7xa7wTyXepmCLEWp-4-Gpk2plA"
        + "s1y3BJZWdtDfko_npqFRRQcd9FjRpSvv4ZgQtg3OmDLbEhpbNVS4eu2yWr3di5onLoCCQdLk6gHs_19CyQ-0M2qHBW"
        + "PyTprS8ngU8b_SAGCIEa8xaCnNK0xR8sB1pTA9o9Pv_eZOHIOHmS0rQ0pRZZmIy5DlqL2FpQ"
    static let genuine =
        "WuXAdLEGxlsuJqG80dTe3PkJyfpED2QLhnngkBXxZxrW0ECpsyr3mNz6gKEMOrx5ZMkYyneGkW0j60tGJUz-4usxPI"
        + "PHURhIhd5NYuRcP8kLlpff_WWQDU7dYD0OB5PRE11DTdxEb1zoBYm5LYoQBhivdI1kYsnfheN4ooD0P9C6WGwWfXE6"
        + "DGt5HOp7wQtzU-D-n0NyKGC3hLDAOcJTzy8qkjQiyDvN8aUbur3hNH5Zs0kdwhr5dK5qHDULTtAXn0a2jfSjYn5vaq"
        + "4QQ7VPwslyQdgtBn7_Xz1I-qFF2B9zZdtCReqCWMNQ5Mo9owgKV2zNw2Pz5t4tqRM-FYMnIQ"

    struct Forgery: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let signature: String
    }

    static let forgeries = [
        Forgery(
            testDescription: "PSS",
            signature: "sMEIFayYGYnUpwaMXUoTPe6LARni8uLVTwUrzMNGTU8wKkIqQ-Agqz4mCvYc4jbKGjEDPk1X4m2dQHyESMWWnzkf7i"
                + "KhWnmqzDoRbeGhNgEPGVyBGdNV-CzeO4iLpDtuzP21x48hORprft0jCydjNV-eoE0FZexaBScg1SwvhNSYWCSIETrA"
                + "bvbi8wRE8IoNANM9tFPcB5YhtQ6S6pE89cElThwFM77G4-4W2tEYrIhflzUgklORaSR93w6l_Pipz3dMJi_JuCYu9f"
                + "uEsCIQYazudBaHm0FszWnyxyJ2c2tfqKRoH8qYoCcuu174-bcAOklbLTm7g7fNJm0IuBSJ1A"
        ),
        Forgery(
            testDescription: "SHA-1",
            signature: "hqhZEi2xGjiu1Fdff1QKfVy5HL-940xhdYwh8y7yPzn0Q_7BkGRtckrZLOFeZVCJXYHDFEB9z2cxwdCGRyB2iHLDLF"
                + "_yrh25jusAcjX9ehersKz-tf0ygyxXCWoAoku5hGvqr374teq7rfHqrOEq4uZ-NmCaD6_tCJ8eKAfZ0PgQl0WOyYYA"
                + "un9RBI5BNylEtvU4750hjnRcwxSYPCq03_x-qJNWeR037yfMGafQSrHMcrwodvTnImHOxICgmkCtoEtlwNYiDd3jdm"
                + "bKz-j_-UGCQM8BQqBLxK__CkNPJ5f1wCwLC90XBZCaAZCQhm13R1aRmAk2EZPR1JHumbZ59Q"
        ),
        Forgery(
            testDescription: "SHA-512",
            signature: "frNAhuR76M4CisnwqKOM0_mT6ixutGWE9-XtLQeJfxmPu9SB7v-csxp1WCoVvf3-Z5zl3C4z2SY5ZQv5735yeokSP-"
                + "zcVvLNiz1YluwTn9JOsCB5n-hH0OV51ZJ-jjBkWOl4d46Tdow1Nrf9U3epxpted9EuI17pbtm_sgHJlQO-V0AJJ0mn"
                + "0915F4nQT5Af1SiKSBdWJnw5M7fYrkSw7UNv-ZXtoQmpd84dncv4Svbd9CQOkVvmg3t2Sb4Me7rPzYiXjl90HzqaYH"
                + "mRz0VU4eTwKW_ylAmMaLoPUtWVYfdevoDrtENDssAbiuWY7SVrmqJJTI3nuT5wqVfZ0W2mbg"
        ),
        Forgery(
            testDescription: "digest without its algorithm",
            signature: "VdyKAsB64H7kNr6TI0IZ_EcPa2FIxjshVXFhYxn0gyEfE813hL4FcuyZGVby1wi6qLN5cdDXxdpn1GvmARyFCAz24R"
                + "0VlZASTluYBmdfmQoy0YpQTTZzDQyktJ0w5NesX9ccDFvK3TqhDuk6tszybiU2QL3hEhCMCNKbWjttLTPXAcDHtAtp"
                + "Gw4BY7evqPZ78aFOvCDPKcKtaPBBQKOehmk6ytHHx9yxeOMj3L-iRiobTjbyezKFh6CznRTyOBkQl_TsgLjv-bCe5w"
                + "QJ3Hlh49Cv07cmC2VE3bgfuGW6I3PTh894EeDVMzIouBF0g8Kc33YOKrWqmrZCIY-oTeXLAg"
        ),
        Forgery(
            testDescription: "algorithm without parameters",
            signature: "Ghea5-QsFrRJlhZNx99Kv-Ku335C4u1JlI2-k-k_YOSwhsqA7t3QW1pEzJMGbnh_2617QPSfwDKs2f4MSNu-pz_REk"
                + "fW9e00PQg0Qv_UxIWX3EvVtPwyr1ldxNafrb_ECi83uwwg6UU64aZncCXFMFV_mU1IPseN8FwEF1lm-xhcrxSWHoFb"
                + "Zn5RvipqgXFX0a_0ikU5c6z2cgZukfXvQCHWpVEDsrTo9MHjbqNgnfOOWQFwWGOucMsvWHiVHkeG_d-wmHhc2QheL3"
                + "8iua2IgrbD77DNXgCO7nlxb524G0pTRp_sHMpiY_4bPS1pTXtEiC2JvMOcB46KYrHvTOdLsg"
        ),
        Forgery(
            testDescription: "short padding and octets behind",
            signature: "OI4O7RwiFi9rzlvTwZUqnybkm-B7ugt6m_od8_GtymFHvVVu_bsItRqC38CqrWhBA3TBWL8fOp-nA1GSCPvuBuHORr"
                + "GOxusyd0LYnFohd8uD4FtDTlH36aHfZF6XWP5B6QBRuVxjJrS3vVGyHMiVqpzDkROkWBML_e0Pf9E54YooAoEfCQzl"
                + "vg99QdYClQC2fXGKq4d-8CqxegquT0GM30I3xkpiOdxLhDDsVYkZd1ihlD6kAYsXh7mJNmrrXzW2XtsquRp-tK7H88"
                + "ZaenCwZ-_0oOvE15sgFCrcZxgmcx4r9lFQSS-YGENisIuGNvRup5XE2cDqoPNbGDKZoTyh2g"
        ),
        Forgery(
            testDescription: "block type 2",
            signature: "kOLsLOj3PAIKijJL3Xiuqe1zLEjcCrtYp_bbs0YupVz2bW2w3lnRW6_UnVAnoImEauAtY2gyzKZP0b7kvSbsPBwrbD"
                + "2k1jqlW6IF4y00bT5ug8xBZRSKUrZxfziAUu1nlZ5G8mPdSGCQJtv7kyyOqi7ba7AykVV4Ps2tkK7UBksiRekm5cQW"
                + "gqiuiyI7cb0_lXxWat8AnforX13eVMZrmSkQw4sn3AwPS4a53dCQSOeOas4tyFu69_RGRF47gbQDGAISiYx6P6Cks7"
                + "gnOCcgpaKPmKDUc2NvPsCFirNMQMzJwlvnIjRUXkz6W7Ou-Ts_tcWtG1ld9YsU4-mDYiwTcQ"
        ),
        Forgery(
            testDescription: "block type 0",
            signature: "ktb7oJr3VfZa8wrCj0x5kFZj4pArUfyhdkCJHsMW54oB2vXgvyDmf4j1Zn0D1xyy5T46LAhDrPTNm7Efc3egH52qXc"
                + "Qw__izzPAzCOaC-3rThJ1vGTAn96K35mYd4bEGp7g4A4gsbi14yWbG-uSrUJuuAFfQvkMIZQaev60TSFIwii4zH3Q4"
                + "4pDFsz-pQC7u94xA3BW1SurfjmIoI13mLLmatnIP2QfmEp06Cs5Gud2fJ7ilyzQNHnBqVVUQZHy3gzcUledmapTBuU"
                + "iJUT6achuqyuyBB32GtDFy63pt8Ksf46PU2AyN4i8a8t6yCbPa75iN7V6xsPbD331kF4iwLA"
        ),
    ]

    private func verify(_ signature: String) throws(SignatureError) {
        let modulus = try base64URL(Self.modulus)
        let key = try RSAPublicKey(modulus: modulus.span, exponent: [1, 0, 1].span)
        let signature = try base64URL(signature)
        try key.verify(signature: signature.span, over: ascii("header.payload").span)
    }

    @Test func genuineIsAccepted() throws {
        try verify(Self.genuine)
    }

    @Test(arguments: forgeries)
    func otherPaddingIsRefused(forgery: Forgery) {
        #expect(failure { () throws(SignatureError) in try verify(forgery.signature) }?.kind == .signature)
    }
}
