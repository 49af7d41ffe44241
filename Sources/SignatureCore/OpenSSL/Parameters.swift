package import CLifecycleOpenSSL

/// Named parameters for libcrypto, with the memory that they point at.
@safe
package struct Parameters: ~Copyable {
    package enum Value {
        case text(String)
        case octets([UInt8])
        case number(UInt32)
        /// A non-negative integer of any size, most significant octet first.
        case bigNumber([UInt8])
    }

    /// Ends with an entry without a key; valid as long as the owner lives.
    package let pointer: UnsafeMutablePointer<OSSL_PARAM>
    private let buffers: [UnsafeMutableRawBufferPointer]

    package init(_ entries: KeyValuePairs<String, Value>) {
        var buffers: [UnsafeMutableRawBufferPointer] = unsafe []
        // Copied, because the C structure refers to both its key and its data; ended with a zero, because libcrypto
        // reads curve names without regard to their length.
        func copy(_ bytes: [UInt8]) -> UnsafeMutableRawBufferPointer {
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count + 1, alignment: 8)
            unsafe buffer.copyBytes(from: bytes)
            unsafe buffer[bytes.count] = 0
            unsafe buffers.append(buffer)
            return unsafe buffer
        }
        let pointer = UnsafeMutablePointer<OSSL_PARAM>.allocate(capacity: entries.count + 1)
        for (index, entry) in entries.enumerated() {
            let type: CInt
            let data: [UInt8]
            switch entry.value {
            case .text(let text):
                type = OSSL_PARAM_UTF8_STRING
                data = Array(text.utf8)
            case .octets(let octets):
                type = OSSL_PARAM_OCTET_STRING
                data = octets
            case .number(let number):
                type = OSSL_PARAM_UNSIGNED_INTEGER
                data = Self.nativeOrder([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) })
            case .bigNumber(let octets):
                type = OSSL_PARAM_UNSIGNED_INTEGER
                data = Self.nativeOrder(octets)
            }
            let key = unsafe copy(Array(entry.key.utf8))
            let value = unsafe copy(data)
            unsafe (pointer + index).initialize(
                to: OSSL_PARAM(
                    key: UnsafePointer(key.assumingMemoryBound(to: CChar.self).baseAddress),
                    data_type: UInt32(type),
                    data: value.baseAddress,
                    data_size: data.count,
                    return_size: Int.max
                )
            )
        }
        unsafe (pointer + entries.count).initialize(to: OSSL_PARAM_construct_end())
        unsafe self.pointer = pointer
        unsafe self.buffers = buffers
    }

    deinit {
        unsafe buffers.forEach { buffer in
            // Keys and test entropy pass through here.
            unsafe OPENSSL_cleanse(buffer.baseAddress, buffer.count)
            unsafe buffer.deallocate()
        }
        unsafe pointer.deallocate()
    }

    private static func nativeOrder(_ mostSignificantFirst: [UInt8]) -> [UInt8] {
        #if _endian(little)
        mostSignificantFirst.reversed()
        #else
        mostSignificantFirst
        #endif
    }
}
