print("lifecycle")
