#if !CommandLineTool
import Foundation

/// The entry point of a build without the trait.
@main
enum WithoutCommandLineTool {
    static func main() {
        FileHandle.standardError.write(Data("lifecycle: build with --traits CommandLineTool\n".utf8))
        exit(64)
    }
}
#endif
