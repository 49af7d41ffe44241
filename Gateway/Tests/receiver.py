"""Checks that Examples/python/receive_news.py acts upon news in the end if the gateway cannot be asked for a moment.

python3 Gateway/Tests/receiver.py   (with standardwebhooks)
"""
import base64
import datetime
import http.server
import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from standardwebhooks import Webhook

SECRET = "whsec_" + base64.b64encode(b"0" * 32).decode()
EXAMPLE = os.path.join(os.path.dirname(__file__), "../../Examples/python/receive_news.py")
NEWS = {"id": "1", "type": "lifecycle.started", "data": {"event": {"account": {"id": "42", "source": "app_user_id"}}}}


class Gateway(http.server.BaseHTTPRequestHandler):
    answers = [503, 200]

    def do_GET(self):
        self.send_response(self.answers.pop(0))
        self.end_headers()
        self.wfile.write(b'{"decision":{"access":"granted"}}')

    def log_message(self, *_):
        pass


def post(port):
    body = json.dumps(NEWS)
    now = datetime.datetime.now(datetime.timezone.utc)
    headers = {"webhook-id": "1", "webhook-timestamp": str(int(now.timestamp()))}
    headers["webhook-signature"] = Webhook(SECRET).sign("1", now, body)
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", body.encode(), headers)
    for _ in range(100):
        try:
            return urllib.request.urlopen(request, timeout=10).status
        except urllib.error.HTTPError as answer:
            return answer.code
        except urllib.error.URLError:
            time.sleep(0.1)  # It does not listen yet.
        except OSError:
            return None  # The connection was closed without an answer.


gateway = http.server.HTTPServer(("127.0.0.1", 0), Gateway)
threading.Thread(target=gateway.serve_forever, daemon=True).start()
free = http.server.HTTPServer(("127.0.0.1", 0), Gateway)
port = free.server_port
free.server_close()
receiver = subprocess.Popen(
    [sys.executable, EXAMPLE, str(port)],
    env={**os.environ, "NEWS_SECRET": SECRET, "GATEWAY": f"http://127.0.0.1:{gateway.server_port}", "TOKEN": "t"},
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
)
statuses = [post(port) for _ in range(3)]
receiver.terminate()
lines = receiver.communicate()[0].decode().splitlines()
if statuses != [503, 204, 204] or len(lines) != 1 or json.loads(lines[0])["access"] is not True:
    sys.exit(f"the receiver answered {statuses} and acted upon {lines}")
print("The receiver acted once upon news that it could not act upon at first.")
