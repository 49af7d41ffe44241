#if !CommandLineTool
import Foundation

/// What a build without the trait leaves: the target has to have an entry point all the same.
@main
enum WithoutCommandLineTool {
    static func main() {
        FileHandle.standardError.write(Data("lifecycle: build with --traits CommandLineTool\n".utf8))
        exit(64)
    }
}
#endif
