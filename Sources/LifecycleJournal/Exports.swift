@_exported public import Normalizer
