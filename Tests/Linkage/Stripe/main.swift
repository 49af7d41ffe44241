// A client that depends on this product alone. `Scripts/linkage` looks at what it links.
import Stripe

print("linked")
