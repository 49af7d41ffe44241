"""Runs test vectors in another language: how a receiver proves a webhook of Stripe or RevenueCat.

    python3 verify.py TestVectors/stripe/signature.jsonl TestVectors/revenuecat/authentication.jsonl
"""
import base64, hashlib, hmac, json, re, sys

HEADERS = {"stripe": "stripe-signature", "revenuecat": "x-revenuecat-webhook-signature"}


class Shared:
    """What the lines of a file refer to; its first line has it."""

    def __init__(self, parts=None):
        self.objects, texts = ((parts or {}).get(name, {}) for name in ("objects", "texts"))
        self.texts = {}
        for name, text in texts.items():
            self.texts[name] = self.octets(text)

    def whole(self, value):
        """An object as it stands, or the one that `base` names, changed by the other members."""
        if "base" not in value:
            return value
        return changed(self.objects[value["base"]], {k: v for k, v in value.items() if k != "base"})

    def octets(self, text):
        """A string, a shared text by its name, the encoding of another text, or several of these in a list."""
        if isinstance(text, str):
            return text.encode()
        if isinstance(text, list):
            return b"".join(map(self.octets, text))
        if "base64" in text:
            return base64.b64encode(self.octets(text["base64"]))
        if "base64url" in text:
            return base64.urlsafe_b64encode(self.octets(text["base64url"])).rstrip(b"=")
        return self.texts[text["text"]]

    def body(self, vector):
        if "body" in vector:
            return self.octets(vector["body"])
        return base64.b64decode(vector["body_base64"], validate=True)

    def fields(self, value):
        """A header field that came once, or several times."""
        return [self.octets(text).decode() for text in (value if isinstance(value, list) else [value])]


def changed(value, changes):
    """null takes a member away, an object changes one, and anything else replaces it."""
    result = dict(value)
    for name, change in changes.items():
        if change is None and name in value:
            del result[name]
        elif isinstance(change, dict) and isinstance(value.get(name), dict):
            result[name] = changed(value[name], change)
        else:
            result[name] = change
    return result


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


def judge(vector, shared):
    """The code of the refusal, or None where the delivery is proven."""
    provider, config = vector["provider"], shared.whole(vector["config"])
    headers = {name.lower(): shared.fields(value) for name, value in vector["headers"].items()}
    body = shared.body(vector)
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
        shared = Shared()
        for line in open(path, encoding="utf-8"):
            vector = json.loads(line)
            if "shared" in vector:
                shared = Shared(vector["shared"])
                continue
            found, wanted = judge(vector, shared), vector.get("code") if vector["expect"] == "reject" else None
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
