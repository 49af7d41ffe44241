import CLifecycleOpenSSL

/// Reads the textual encoding of keys and certificates (RFC 7468).
package enum PEM {
    /// The contents of all blocks with this label, in order; text outside of blocks is skipped.
    ///
    /// - Throws: `malformed` for a block that is damaged, encrypted or labelled differently, and where there is none.
    package static func blocks(labelled label: String, in text: Span<UInt8>) throws(SignatureError) -> [[UInt8]] {
        guard text.count > 0, text.count <= 1024 * 1024 else {
            throw SignatureError(.limit, "PEM text of \(text.count) octets")
        }
        // Copied by the write, so that nothing refers to the caller's memory.
        let file = try unsafe Owned<BasicIOObject>(BIO_new(BIO_s_mem()), "no memory file")
        let written = unsafe text.withUnsafeBufferPointer { buffer in
            unsafe BIO_write(file.pointer, buffer.baseAddress, CInt(buffer.count))
        }
        guard Int(written) == text.count else { throw .openSSL(.internalFailure, "memory file not written") }
        var blocks: [[UInt8]] = []
        while let block = try nextBlock(labelled: label, in: file) { blocks.append(block) }
        guard !blocks.isEmpty else { throw SignatureError(.malformed, "PEM text without \(label)") }
        return blocks
    }

    private static func nextBlock(
        labelled label: String,
        in file: borrowing Owned<BasicIOObject>
    ) throws(SignatureError) -> [UInt8]? {
        var name: UnsafeMutablePointer<CChar>? = nil
        var header: UnsafeMutablePointer<CChar>? = nil
        var content: UnsafeMutablePointer<UInt8>? = nil
        var count = 0
        defer {
            unsafe lifecycle_OPENSSL_clear_free(name, 0)
            unsafe lifecycle_OPENSSL_clear_free(header, 0)
            unsafe lifecycle_OPENSSL_clear_free(content, count)
        }
        guard unsafe PEM_read_bio(file.pointer, &name, &header, &content, &count) == 1 else {
            // The reason is the lower part of the packed code: the text simply ended.
            let isEnd = ERR_peek_last_error() & 0x7f_ffff == UInt(PEM_R_NO_START_LINE)
            if isEnd {
                ERR_clear_error()
                return nil
            }
            count = 0
            throw .openSSL(.malformed, "PEM block is damaged")
        }
        guard let name = unsafe name, unsafe String(cString: name) == label else {
            throw SignatureError(.malformed, "PEM block is not labelled \(label)")
        }
        guard let header = unsafe header, unsafe header.pointee == 0 else {
            throw SignatureError(.malformed, "PEM block has a header, as encrypted ones have")
        }
        return unsafe Array(UnsafeBufferPointer(start: content, count: count))
    }
}
