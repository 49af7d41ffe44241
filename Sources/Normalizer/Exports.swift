// Re-exported so that `import Normalizer` is enough.
@_exported public import LifecycleEvents
