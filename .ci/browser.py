"""Runs a notebook in JupyterLab through a browser; see .ci/browser."""
import json, os, pathlib, secrets, shutil, socket, subprocess, sys, tempfile, time, urllib.request

from playwright.sync_api import sync_playwright

MINUTES = 20
notebook, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
work = pathlib.Path(tempfile.mkdtemp(prefix="kalmarz-browser-"))  # JupyterLab saves outputs into the file
shutil.copy(notebook, work)
settings = work / ".settings"
for name, value in {
    "notebook-extension/tracker": {"windowingMode": "none"},  # all cells are in the page
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}.items():
    path = settings / "@jupyterlab" / f"{name}.jupyterlab-settings"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))

with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
token = secrets.token_hex(16)
server = subprocess.Popen(
    [pathlib.Path(sys.executable).parent / "jupyter", "lab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1",
     f"--ServerApp.port={port}", f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={work}"],
    env={**os.environ, "JUPYTERLAB_SETTINGS_DIR": str(settings)}, stdout=open(folder / "jupyter.log", "w"), stderr=subprocess.STDOUT)
base = f"http://127.0.0.1:{port}"


page = None


def wait(what, ready, seconds=60 * MINUTES):
    end = time.time() + seconds
    while time.time() < end:
        try:
            if ready():
                return
        except OSError:  # not listening yet
            pass
        time.sleep(0.3)
    if page:
        shot("waiting")
    raise SystemExit(f"{notebook.name}: waited {seconds} s for {what}")


def api(what):
    with urllib.request.urlopen(f"{base}/api/{what}?token={token}") as answer:
        return json.load(answer)


def shot(name):
    page.screenshot(path=folder / f"{name}.png")
    print(folder / f"{name}.png")


try:
    wait("JupyterLab", lambda: api("status"), 120)
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 1700})
        page.set_default_timeout(120_000)
        page.goto(f"{base}/lab/tree/{notebook.name}?token={token}&reset")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        wait("the kernel", lambda: any(k["execution_state"] == "idle" and k["connections"] for k in api("kernels")), 120)
        prompts = page.locator(".jp-CodeCell .jp-InputArea-prompt")
        while prompts.first.inner_text() == "[ ]:":  # a kernel that has just come may not hear
            page.get_by_role("menuitem", name="Run", exact=True).click()
            page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
            time.sleep(5)

        errors = page.locator('[data-mime-type="application/vnd.jupyter.error"]')

        def unless_failed(ready):
            if errors.count():
                shot("failed")
                raise SystemExit(f"{notebook.name}: a cell failed: {errors.first.inner_text()}")
            return ready()

        running = page.locator(".jp-OutputArea-output", has_text="tokens/s").filter(has=page.locator("svg"))
        wait("a live figure", lambda: unless_failed(lambda: running.count() > 0))
        time.sleep(4)
        running.first.scroll_into_view_if_needed()
        shot("live")

        wait("the last cell", lambda: unless_failed(lambda: all(t.strip().strip("[]:").isdigit() for t in prompts.all_inner_texts())))
        cell = page.locator(".jp-CodeCell", has_text="ablate").filter(has=page.locator("table")).first
        cell.scroll_into_view_if_needed()
        cell.evaluate("c => c.scrollIntoView()")
        time.sleep(1)
        shot("end")
        print(f"{notebook.name}: {prompts.count()} cells, {page.locator('.jp-OutputArea svg').count()} figures, "
              f"{page.locator('.jp-OutputArea table').count()} tables, no error")
        browser.close()
finally:
    server.terminate()
    server.wait(30)
    shutil.rmtree(work, ignore_errors=True)
