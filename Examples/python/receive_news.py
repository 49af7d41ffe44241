"""Receives news from lifecycle-gateway and asks it for access: all that a backend in another language needs.

pip install standardwebhooks
NEWS_SECRET=whsec_… GATEWAY=http://127.0.0.1:8080 TOKEN=… python3 receive_news.py [PORT]
"""
import json
import os
import sys
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["NEWS_SECRET"])
acted_upon = set()  # Yours is a unique index in the database, written in the transaction of the effect.


def has_access(account, source):
    query = urllib.parse.urlencode({"account": account, "source": source})
    request = urllib.request.Request(f"{os.environ['GATEWAY']}/v1/access?{query}")
    request.add_header("Authorization", f"Bearer {os.environ['TOKEN']}")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)["decision"]["access"] == "granted"


def act_upon(event):
    account = event["data"]["event"].get("account")
    access = has_access(account["id"], account["source"]) if account else None
    print(json.dumps({"type": event["type"], "subject": event.get("subject"), "access": access}), flush=True)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            event = webhook.verify(body, dict(self.headers))
        except WebhookVerificationError:
            self.send_response(401)
        else:
            try:
                if event["id"] not in acted_upon:
                    act_upon(event)
                    acted_upon.add(event["id"])
                self.send_response(204)
            except OSError:
                self.send_response(503)  # The gateway posts it again.
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 9000), Receiver).serve_forever()
