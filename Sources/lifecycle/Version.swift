#if CommandLineTool
/// The version of this package. Between two versions it is the next one with `-dev`.
enum Version {
    static let current = "0.18.1"
}
#endif
