// A client that depends on this product alone. `Scripts/linkage` looks at what it links.
import AppleJWS

print("linked")
