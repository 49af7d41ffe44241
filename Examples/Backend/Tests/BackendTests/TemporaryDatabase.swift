import Foundation

/// A file for a database, which is gone when nobody needs it any more.
final class TemporaryDatabase: Sendable {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    let path: String

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appendingPathComponent("backend.sqlite").path
    }

    deinit { try? FileManager.default.removeItem(at: folder) }
}
