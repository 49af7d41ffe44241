"""Looks at the gateway's page in a headless Chromium as a reader does, and keeps screenshots. Needs Python alone.

GATEWAY=http://127.0.0.1:8765 PASSWORD=… AUTHORIZATION=… SECRET=… python3 page.py ACCOUNT TIME_WITH_ACCESS FOLDER

AUTHORIZATION and SECRET are those of the source `revenuecat`: a payload with hostile names is sent with them.
"""
import base64, hashlib, hmac, json, os, shutil, subprocess, sys, tempfile, time, urllib.parse, urllib.request

HOSTILE = "\"'><script>owned=1</script><img src=https://evil.example/x onerror=owned=1>\u202e"
COLORS = """(() => {
  const light = c => { const p = c.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * p[0] + .7152 * p[1] + .0722 * p[2] }
  const back = light(getComputedStyle(document.body).backgroundColor)
  return [...document.querySelectorAll('p,td,th,h1,h2,h3,label,.badge,a')].filter(e => e.checkVisibility()).map(e => {
    const text = light(getComputedStyle(e).color)
    return [(Math.max(text, back) + .05) / (Math.min(text, back) + .05), e.tagName + '.' + e.className] })
    .sort((a, b) => a[0] - b[0])[0].concat(back) })()"""
MARKUP = """[...document.querySelectorAll('script,img,iframe,object,embed,link,base,video,audio')].map(e => e.tagName)
  .concat([...document.querySelectorAll('*')].flatMap(e => [...e.attributes]).filter(
    a => a.name.startsWith('on') || /^\\s*(javascript|data):/i.test(a.value)).map(a => a.name))"""
FOCUS = """(() => { const e = document.activeElement, s = getComputedStyle(e)
  return [e.getAttribute('aria-label') || e.name || e.textContent.slice(0, 30), e === document.body,
    s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2] })()"""


class Browser:
    """Chromium, spoken to through a pipe (https://chromedevtools.github.io/devtools-protocol)."""

    def __init__(self, program, profile):
        # Chromium reads its commands from 3 and answers on 4. Pipes may have these numbers, so they are moved out of the way.
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        for number, end in ((8, commands), (9, answers)):
            os.dup2(end, number)
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        self.process = subprocess.Popen(
            ["sh", "-c", 'exec "$@" 3<&8 4>&9 8<&- 9>&-', "sh", program, *arguments, "about:blank"],
            pass_fds=(8, 9), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (commands, answers, 8, 9):
            os.close(end)
        self.buffer, self.count, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")
        # A headless page has no window that could have the focus, and `:focus` holds only in one that has.
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.count:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]

    def read(self):
        while b"\0" not in self.buffer:
            part = os.read(self.answers, 1 << 20)
            if not part:
                sys.exit("Chromium has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        if "method" in message:
            self.events.append(message)
        return message

    def loaded(self, act):
        self.events.clear()
        act()
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.read()

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def press(self, key, code, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                      **({"text": text} if text and kind == "keyDown" else {}))

    def picture(self, path, width, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))


def send_hostile_event(gateway):
    """A purchase by RevenueCat in which every name that a customer or an attacker can choose is hostile."""
    now = int(time.time() * 1000)
    event = {"type": "INITIAL_PURCHASE", "id": "hostile", "app_id": "app", "environment": "PRODUCTION", "store": "APP_STORE",
             "app_user_id": HOSTILE, "original_app_user_id": HOSTILE, "aliases": [HOSTILE], "product_id": HOSTILE,
             "entitlement_ids": [HOSTILE], "period_type": "NORMAL", "purchased_at_ms": now - 1000, "event_timestamp_ms": now,
             "expiration_at_ms": now + 86_400_000, "transaction_id": HOSTILE, "original_transaction_id": HOSTILE,
             "currency": "USD", "price": 1, "price_in_purchased_currency": 1, "country_code": "US"}
    body = json.dumps({"api_version": "1.0", "event": event}).encode()
    signed = str(now // 1000).encode() + b"." + body
    code = hmac.new(os.environ["SECRET"].encode(), signed, hashlib.sha256).hexdigest()
    request = urllib.request.Request(gateway + "/hooks/revenuecat", body, {
        "Authorization": os.environ["AUTHORIZATION"], "X-RevenueCat-Webhook-Signature": f"t={now // 1000},v1={code}"})
    urllib.request.urlopen(request, timeout=10).close()


def main(account, moment, folder):
    gateway, findings = os.environ["GATEWAY"], []
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not program:
        sys.exit("no Chromium is installed")

    def check(holds, finding):
        if not holds:
            findings.append(finding)

    send_hostile_event(gateway)
    profile = tempfile.mkdtemp()
    browser = Browser(program, profile)
    key = base64.b64encode(f"reader:{os.environ['PASSWORD']}".encode()).decode()
    browser.call("Network.setExtraHTTPHeaders", headers={"Authorization": f"Basic {key}"})

    def open_page(name, path, **query):
        address = f"{gateway}{path}?{urllib.parse.urlencode(query)}"
        browser.loaded(lambda: browser.call("Page.navigate", url=address))
        requests = [event["params"]["request"]["url"] for event in browser.events
                    if event["method"] == "Network.requestWillBeSent"]
        refusals = [event["params"]["entry"]["text"] for event in browser.events
                    if event["method"] == "Log.entryAdded" and "favicon" not in event["params"]["entry"].get("url", "")]
        check(all(url.startswith(gateway) for url in requests), f"{name}: something else is loaded: {requests}")
        check(not refusals, f"{name}: the browser complains: {refusals}")
        check(not (found := browser.evaluate(MARKUP)), f"{name}: markup that can load or run something: {found}")
        check(browser.evaluate("typeof owned") == "undefined", f"{name}: a payload's script has run")
        check(browser.evaluate("getComputedStyle(document.body).maxWidth") != "none", f"{name}: the style is not applied")
        backs = []
        for scheme in ("light", "dark"):
            browser.picture(f"{folder}/{name}-{scheme}.png", 1280, scheme)
            contrast, element, back = browser.evaluate(COLORS)
            check(contrast >= 4.5, f"{name}, {scheme}: {element} has a contrast of {contrast:.1f}")
            backs.append(back)
        check(backs[0] > 0.8 and backs[1] < 0.05, f"{name}: light and dark have backgrounds of {backs}")
        browser.picture(f"{folder}/{name}-narrow.png", 400, "light")
        check(browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name}: it is wider than a telephone")
        return browser.evaluate("document.body.innerText")

    # A time at which a search finds nothing would be missed here: events are taken in after they were answered.
    for _ in range(50):
        text = open_page("hostile", "/", q=HOSTILE)
        if "there is access" in text:
            break
        time.sleep(0.2)
    check("there is access" in text, "hostile: the purchase is not found")
    check("<script>owned=1</script>" in text, "hostile: the name is not shown as text")
    check("\u202e" not in text, "hostile: the order of characters is changed")
    check("nothing" in open_page("nothing", "/", q="nothing").lower(), "nothing: the page does not say so")
    check("Nothing is in quarantine" in open_page("quarantine", "/quarantine"), "quarantine: it is not empty")
    text = open_page("customer", "/", q=account, at=moment)
    check("there is access until" in text, "customer: it is not said why there is access")
    check("Answer" in text, "customer: deliveries and their answers are not shown")

    # With the keyboard alone: every place can be reached and is seen, and another time can be asked about.
    reached = []
    for _ in range(60):
        name, is_body, is_seen = browser.evaluate(FOCUS)
        if is_body or name in reached:
            break
        reached.append(name)
        check(is_seen, f"keyboard: the focus on {name} is not seen")
        browser.press("Tab", 9)
    places = browser.evaluate("document.querySelectorAll('a[href],input,button,[tabindex]').length")
    # A key that was pressed may still move the focus after its answer, so the link is looked at until it holds.
    for _ in range(50):
        browser.evaluate("document.querySelector('.skip').focus()")
        if is_skip_seen := browser.evaluate("document.querySelector('.skip:focus')?.getBoundingClientRect().left >= 0"):
            break
        time.sleep(0.1)
    check(is_skip_seen, "keyboard: the skip link is not seen")
    check({"q", "at"} <= set(reached), f"keyboard: reached only {reached}")
    # The search has the focus at first, behind the link that skips it.
    check(len(reached) >= places - 1, f"keyboard: {len(reached)} of {places} places are reached: {reached}")
    browser.evaluate("document.querySelector('[name=at]').select(); document.querySelector('[name=at]').focus()")
    browser.call("Input.insertText", text="2001-01-01")
    browser.loaded(lambda: browser.press("Enter", 13, "\r"))
    check("there is no access" in browser.evaluate("document.body.innerText"), "customer: the time picked is not explained")

    browser.process.kill()
    browser.process.wait()
    shutil.rmtree(profile, ignore_errors=True)
    for finding in findings:
        print(f"page: {finding}")
    print(f"page: {len(findings)} findings; screenshots are in {folder}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
