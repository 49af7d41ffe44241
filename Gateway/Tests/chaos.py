"""Plays four providers at gateways that are killed, and a backend that refuses a third of the news. See Scripts/chaos."""
import base64, collections, hashlib, hmac, http.client, http.server, json, os, queue, random, signal, socketserver, subprocess
import sys, threading, time

SECRET = base64.b64encode(b"chaos" * 7).decode()
TOKEN = "chaos-token-0123456789"
PORT = 8790


def settings(database, mode, **others):
    return dict(os.environ, DATABASE_URL=database, SOURCES="any", SOURCE_ANY_PROVIDER="stripe",
                SOURCE_ANY_SIGNING_SECRETS="replaced-by-the-script", TOKENS="chaos", TOKEN_CHAOS_SECRET=TOKEN,
                TOKEN_CHAOS_SCOPES="read,admin", HOOKS_ANSWER_AT_ONCE=mode, **others)


class Gateway:
    """A process that can be killed, and is started again on the same port."""

    def __init__(self, command, environment, port):
        self.command, self.environment, self.port = command, dict(environment, HTTP_PORT=str(port)), port
        self.peak = 0
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, env=self.environment, stdout=subprocess.DEVNULL)
        for _ in range(600):
            if self.process.poll() is not None:
                sys.exit(f"the gateway has ended with {self.process.returncode}")
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/ready")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                time.sleep(0.05)
        sys.exit("the gateway does not start")

    def measure(self):
        try:
            with open(f"/proc/{self.process.pid}/status") as status:
                self.peak = max(self.peak, next(int(line.split()[1]) for line in status if line.startswith("VmHWM")))
        except (OSError, StopIteration):
            pass

    def resident(self):
        """The memory at this moment, in MiB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) // 1024

    def waiting(self):
        """How many deliveries wait for workers; no more than a hundred are counted."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        lines = connection.getresponse().read().decode().splitlines()
        return next(int(float(line.split()[1])) for line in lines if line.startswith("lifecycle_deliveries_waiting "))

    def kill(self):
        self.measure()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Backend(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Refuses a third of the requests, each piece of news at most three times."""
    daemon_threads, request_queue_size = True, 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), News)
        self.taken, self.refused, self.forged = collections.Counter(), collections.Counter(), 0
        self.lock = threading.Lock()

    def handle_error(self, *_):
        """A gateway that is killed leaves its connections open."""


class News(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body, backend = self.rfile.read(int(self.headers["Content-Length"])), self.server
        name, moment = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        code = hmac.new(base64.b64decode(SECRET), f"{name}.{moment}.".encode() + body, hashlib.sha256).digest()
        with backend.lock:
            if f"v1,{base64.b64encode(code).decode()}" not in self.headers["webhook-signature"] or json.loads(body)["id"] != name:
                backend.forged += 1
            if backend.refused[name] < 3 and random.random() < 1 / 3:
                backend.refused[name] += 1
                status = 500
            else:
                backend.taken[name] += 1
                status = 204
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def signed(line):
    """A delivery as its provider signs it at this moment; a forgery keeps the code that it has."""
    headers, body, now = dict(line["headers"]), line["body"], int(time.time())
    if line["events"] is not None and line["key"]:
        code = hmac.new(line["key"], f"{now}.".encode() + body, hashlib.sha256).hexdigest()
        headers[line["field"]] = f"t={now},v1={code}"
    return headers


class Post(threading.Thread):
    """One of a provider's connections. What gets no answer that accepts or refuses it is sent again."""

    def __init__(self, work, ports, results):
        super().__init__(daemon=True)
        self.work, self.ports, self.results, self.connections = work, ports, results, {}

    def run(self):
        while True:
            number, line = self.work.get()
            status = 0
            while status not in (200, 400, 401, 403):
                port = random.choice(self.ports)
                began = time.monotonic()
                try:
                    status = self.send(port, line)
                except (OSError, http.client.HTTPException):
                    self.connections.pop(port, None)
                    status = 0
                self.results.append((number, status, time.monotonic() - began))
                if status in (0, 503):
                    time.sleep(0.05)
            self.work.task_done()

    def send(self, port, line):
        connection = self.connections.get(port) or http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.connections[port] = connection
        connection.request("POST", f"/hooks/{line['source']}", line["body"], signed(line))
        answer = connection.getresponse()
        answer.read()
        return answer.status


class Feed:
    """Every event that the gateways have taken in, read from where it was read to before."""

    def __init__(self, port):
        self.port, self.position, self.events, self.news = port, 0, set(), set()

    def read(self):
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            connection.request("GET", f"/v1/events?after={self.position}&limit=1000", headers={"Authorization": f"Bearer {TOKEN}"})
            page = [json.loads(line) for line in connection.getresponse().read().splitlines()]
            for entry in page:
                applied = entry["event"]
                name, self.position = applied["event"]["id"], entry["position"]
                self.events.add(name)
                # What is about no purchase is news, too.
                is_alone = applied["disposition"] == "unrelated" and not applied["event"].get("subscription")
                if applied["disposition"] == "applied" or is_alone:
                    self.news.add(name)
            if not page:
                return self


def chaos(program, folder, database, processes, count, kills):
    processes, count, kills = int(processes), int(count), int(kills)
    random.seed(count)
    # A life is 52 deliveries, one in eight is forged as well, and a fifth of all come once more.
    subprocess.run([program, "deliveries", folder, str(max(count // 73, 1)), "chaos"], check=True)
    with open(f"{folder}/deliveries.jsonl") as file:
        lines = [{"events": None, **json.loads(line)} for line in file]
    stripe, revenuecat = json.loads(subprocess.run([program, "keys"], check=True, capture_output=True).stdout)
    keys = {"stripe": stripe["secrets"][0], "revenuecat": revenuecat["hmacSecrets"][0]}
    fields = {"stripe": "Stripe-Signature", "revenuecat": "X-RevenueCat-Webhook-Signature"}
    for line in lines:
        line["body"] = base64.b64decode(line["body"])
        line["field"], line["key"] = fields.get(line["source"]), keys.get(line["source"], "").encode()
    deliveries = lines + random.choices(lines, k=max(count - len(lines), 0))
    deliveries = deliveries[:max(count, len(lines))]
    random.shuffle(deliveries)
    forged = sum(line["events"] is None for line in deliveries)

    backend = Backend()
    threading.Thread(target=backend.serve_forever, daemon=True).start()
    environment = settings(database, "true", NEWS_URL=f"http://127.0.0.1:{backend.server_port}/news",
                           NEWS_SECRET="whsec_" + SECRET, WORKERS="2")
    gateways = [Gateway([program, "serve", folder], environment, PORT + number) for number in range(processes)]
    work, results, began = queue.Queue(maxsize=256), [], time.monotonic()
    for _ in range(16):
        Post(work, [gateway.port for gateway in gateways], results).start()
    moments = set(random.sample(range(len(deliveries) // 20, len(deliveries)), kills))
    for number, line in enumerate(deliveries):
        work.put((number, line))
        if number in moments:
            gateway = random.choice(gateways)
            gateway.kill()
            gateway.start()
    work.join()
    posted = time.monotonic() - began
    final = {number: status for number, status, _ in results}
    times = sorted(seconds for _, status, seconds in results if status == 200)
    accepted = [deliveries[number] for number, status in final.items() if status == 200]
    check(not any(line["events"] is None for line in accepted), "a forgery was accepted")
    check(len(accepted) == len(deliveries) - forged, "a delivery that is authentic was refused")

    expected = {event for line in deliveries for event in line["events"] or []}
    feed = Feed(gateways[0].port)
    wait(lambda: len(feed.read().events) >= len(expected), "the workers have not taken in what was accepted")
    settled = time.monotonic() - began
    wait(lambda: feed.news <= set(backend.taken), "the backend has not got all the news")
    for gateway in gateways:
        gateway.measure()
        gateway.process.terminate()
        gateway.process.wait()
    check(set(backend.taken) == feed.news, f"the backend has {len(set(backend.taken) - feed.news)} ids that are no news")
    check(backend.forged == 0, "news did not prove itself")
    print(f"{len(deliveries)} deliveries of four providers ({forged} forged), {kills} kills, {len(results) - len(deliveries)} attempts "
          f"without an answer; answered in {posted:.0f} s, taken in after {settled:.0f} s, told after {time.monotonic() - began:.0f} s")
    print(f"ingest: p50 {times[len(times) // 2] * 1000:.1f} ms, p99 {times[len(times) * 99 // 100] * 1000:.1f} ms; "
          f"peak memory {max(gateway.peak for gateway in gateways) // 1024} MiB")
    print(f"news: {len(feed.news)} pieces, each taken; {sum(backend.refused.values())} refused, "
          f"{sum(count - 1 for count in backend.taken.values())} taken once more under the same id")
    subprocess.run([program, "check", folder], env=dict(os.environ, DATABASE_URL=database), check=True)


def speed(program, folder, database, customers):
    """How many deliveries a second become durable, next to a server that only stores the bytes, and the memory meanwhile."""
    floor = 0
    for mode, name in (("bare", "the bytes alone"), ("true", "gateway, answers at once"), ("false", "gateway, takes in first")):
        subprocess.run([program, "deliveries", folder, customers, mode], check=True)
        environment = settings(database, "true" if mode == "bare" else mode)
        gateway = Gateway([program, "bare" if mode == "bare" else "serve", folder], environment, PORT)
        load = subprocess.Popen([program, "post", "16", customers, mode], env=gateway.environment, stdout=subprocess.PIPE, text=True)
        sizes = []
        while load.poll() is None:
            time.sleep(0.25)
            sizes.append(gateway.resident())
        result = load.stdout.read().strip()
        rate = int(result.split("/s")[0].split()[-1])
        floor = floor or rate
        waiting = gateway.waiting() if mode == "true" else 0
        print(f"{name}: {result}; {rate / floor:.2f} of the floor; {waiting} wait for workers; "
              f"memory {sizes[len(sizes) // 4]}, {sizes[len(sizes) // 2]}, {sizes[-1]} MiB at a quarter, a half, the end", flush=True)
        gateway.kill()


def check(holds, finding):
    if not holds:
        sys.exit(finding)


def wait(holds, finding):
    for _ in range(600):
        if holds():
            return
        time.sleep(1)
    sys.exit(finding)


if __name__ == "__main__":
    {"chaos": chaos, "speed": speed}[sys.argv[1]](*sys.argv[2:])
