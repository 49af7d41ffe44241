// Who keeps states speaks of events all the time, so that one import is enough.
@_exported public import LifecycleEvents
