import CLifecycleOpenSSL

/// Reads a date of a certificate (RFC 5280 §4.1.2.5) as milliseconds since 1970.
enum CertificateTime {
    /// - Throws: `certificate` unless the date is written with seconds, in UTC and without a fraction.
    static func milliseconds(_ time: UnsafePointer<ASN1_TIME>?) throws(SignatureError) -> Int64 {
        guard let time = unsafe time else { throw SignatureError(.certificate, "certificate without a date") }
        let type = unsafe ASN1_STRING_type(time)
        let count = type == V_ASN1_UTCTIME ? 13 : type == V_ASN1_GENERALIZEDTIME ? 15 : 0
        guard unsafe Int(ASN1_STRING_length(time)) == count, count > 0,
            let text = unsafe ASN1_STRING_get0_data(time), unsafe text[count - 1] == UInt8(ascii: "Z")
        else {
            throw SignatureError(.certificate, "certificate date is not YY(YY)MMDDhhmmssZ")
        }
        var fields = unsafe tm()
        guard unsafe ASN1_TIME_to_tm(time, &fields) == 1 else {
            throw .openSSL(.certificate, "certificate date cannot be read")
        }
        // libcrypto checked every field, so the year lies in 0…9999 and nothing below can overflow.
        let days = unsafe daysSince1970(
            year: Int64(fields.tm_year) + 1900,
            month: Int64(fields.tm_mon) + 1,
            day: Int64(fields.tm_mday)
        )
        let seconds = unsafe Int64(fields.tm_hour) * 3600 + Int64(fields.tm_min) * 60 + Int64(fields.tm_sec)
        return (days * 86_400 + seconds) * 1000
    }

    /// Days of the proleptic Gregorian calendar, counted in years that begin in March so that a leap day comes last.
    static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
