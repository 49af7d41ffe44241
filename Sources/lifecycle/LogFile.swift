#if CommandLineTool
import ArgumentParser
import Foundation
import Normalizer

/// The lines of a log, read piece by piece, so that its length needs no memory.
struct LogFile: Sequence, IteratorProtocol {
    private let file: FileHandle
    private let path: String
    private var buffer: [UInt8] = []
    private var start = 0
    private var number = 0
    private var isAtEnd = false

    init(_ file: FileHandle, at path: String) {
        self.file = file
        self.path = path
    }

    /// The next line; an error is the last element, and has gone to standard error.
    mutating func next() -> Result<LogLine, any Error>? {
        do {
            while let bytes = try nextBytes() {
                number += 1
                if let line = try EventLog.line(bytes, number: number) { return .success(line) }
            }
            return nil
        } catch let error as EventLog.InvalidLine {
            isAtEnd = true
            buffer = []
            StandardError.write("\(path): \(error)")
            return .failure(ExitCode.rejected)
        } catch {
            isAtEnd = true
            buffer = []
            return .failure(error)
        }
    }

    private mutating func nextBytes() throws -> [UInt8]? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0A) {
                defer { start = end + 1 }
                return Array(buffer[start..<end])
            }
            searched = buffer.count
            if isAtEnd {
                guard start < buffer.count else { return nil }
                defer { start = buffer.count }
                return Array(buffer[start...])
            }
            if let piece = try chunk(of: file, at: path) {
                buffer.removeSubrange(..<start)
                searched -= start
                start = 0
                buffer += piece
            } else {
                isAtEnd = true
            }
        }
    }
}
#endif
