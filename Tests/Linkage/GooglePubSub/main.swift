// A client that depends on this product alone. `Scripts/linkage` looks at what it links.
import GooglePubSub

print("linked")
