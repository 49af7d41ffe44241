"""What a Python backend does with the providers' own libraries. Runs one round for every line that it reads, and answers
with the nanoseconds of processor time that one run took.

    peer.py stripe FILE SECRET
    peer.py apple FILE ROOT BUNDLE_ID APP_APPLE_ID
"""

import hashlib
import hmac
import json
import sys
import time


def stripe_work(path, secret):
    import stripe

    payload = open(path, "rb").read()
    signed_at = str(int(time.time()))
    code = hmac.new(secret.encode(), signed_at.encode() + b"." + payload, hashlib.sha256).hexdigest()
    header = f"t={signed_at},v1={code}"
    return lambda: stripe.Webhook.construct_event(payload, header, secret, tolerance=None)


def apple_work(path, root, bundle_id, app_apple_id):
    from appstoreserverlibrary.models.Environment import Environment
    from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier

    signed = json.load(open(path))["signedPayload"]
    verifier = SignedDataVerifier([open(root, "rb").read()], False, Environment.PRODUCTION, bundle_id, int(app_apple_id))

    def work():
        data = verifier.verify_and_decode_notification(signed).data
        verifier.verify_and_decode_signed_transaction(data.signedTransactionInfo)
        verifier.verify_and_decode_renewal_info(data.signedRenewalInfo)

    return work


work = {"stripe": stripe_work, "apple": apple_work}[sys.argv[1]](*sys.argv[2:])
work()
for _ in sys.stdin:
    start = time.process_time_ns()
    for _ in range(5):
        work()
    print((time.process_time_ns() - start) / 5, flush=True)
