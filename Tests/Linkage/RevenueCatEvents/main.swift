// A client that depends on this product alone. `Scripts/linkage` looks at what it links.
import RevenueCatEvents

print("linked")
