"""Runs test vectors in another language: how a receiver proves a webhook of Stripe or RevenueCat.

    python3 verify.py TestVectors/stripe/signature.jsonl TestVectors/revenuecat/authentication.jsonl
"""
import base64, hashlib, hmac, json, re, sys

HEADERS = {"stripe": "stripe-signature", "revenuecat": "x-revenuecat-webhook-signature"}


def strings(value):
    return [] if value is None else [value] if isinstance(value, str) else value


def usable(secrets, config):
    """A receiver that would prove nothing does not start: no secret, a blank one, one that was pasted with a line end."""
    whole = secrets and all(s and s == s.strip() for s in secrets)
    return whole and 0 <= config.get("toleranceSeconds", 300) <= 86400 and config.get("appIds") != []


def check_signature(values, body, secrets, config):
    """RFC 2104 HMAC-SHA-256 over `t`, a dot and the raw body; any of several codes against any of several secrets."""
    if not values:
        return "unauthenticated"
    value = ",".join(values)  # RFC 9110, section 5.3
    if len(value.encode()) > 8192:
        return "malformed"
    pairs = [tuple(x.strip(" \t") for x in e.split("=", 1)) for e in value.split(",") if "=" in e]
    times, codes = ([v for k, v in pairs if k == name] for name in ("t", "v1"))
    if len(times) != 1 or len(codes) > 16 or not re.fullmatch("0|[1-9][0-9]*", times[0]) or int(times[0]) >= 2**63:
        return "malformed"
    signed = times[0].encode() + b"." + body
    expected = [hmac.new(s.encode(), signed, hashlib.sha256).hexdigest().encode() for s in secrets]
    if not any(hmac.compare_digest(e, c.encode()) for e in expected for c in codes):
        return "unauthenticated"
    # Only what holds is looked at for its age: both ends of the window count.
    return "stale" if abs(config["now"] - int(times[0]) * 1000) > config.get("toleranceSeconds", 300) * 1000 else None


def judge(vector):
    """The code of the refusal, or None where the delivery is proven."""
    provider, config = vector["provider"], vector["config"]
    headers = {name.lower(): strings(value) for name, value in vector["headers"].items()}
    body = base64.b64decode(vector["body_base64"], validate=True)
    secrets, values = strings(config.get("secrets") or config.get("hmacSecrets")), strings(config.get("authorization"))
    if not usable(secrets + values, config):
        return "configuration"
    if len(body) > config.get("maxBodyBytes", 1 << 20):
        return "malformed"
    if values:
        given = headers.get("authorization", [])
        if len(given) != 1 or not any(hmac.compare_digest(v.encode(), given[0].encode()) for v in values):
            return "unauthenticated"
    if secrets and (code := check_signature(headers.get(HEADERS[provider], []), body, secrets, config)):
        return code
    return None


def main(paths):
    total = differing = 0
    for path in paths:
        for line in open(path, encoding="utf-8"):
            vector = json.loads(line)
            found, wanted = judge(vector), vector.get("code") if vector["expect"] == "reject" else None
            # Turned away for what it says, once it is proven: a matter of reading, not of signatures.
            wanted = None if wanted == "misdirected" else wanted
            total += 1
            if found != wanted:
                differing += 1
                print(f"{vector['id']}: expected {wanted}, found {found}")
    print(f"{total} vectors, {differing} differ")
    return 1 if differing or not total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
