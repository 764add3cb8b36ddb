"""A service on loopback that replays a captured graph for each request. At one request, its cache is replaced, but the
graph still reads the old one: service.py [REQUEST [REQUESTS]]"""
import http.client
import http.server
import sys
import threading

import torch

GROWS_AT = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
REQUESTS = int(sys.argv[2]) if len(sys.argv) > 2 else 3000


class Model:
    def __init__(self):
        self.weights = torch.ones(256, 64, device="cuda")
        self.cache = torch.ones(64 * 2**20, device="cuda")
        self.positions = torch.arange(64, device="cuda")
        self.answer()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.result = self.answer()

    def answer(self):
        kept = self.cache.index_select(0, self.positions)  # TRUE LINE
        return (self.weights @ kept).sum()

    def grow(self):
        self.cache = torch.ones(2 * len(self.cache), device="cuda")
        torch.cuda.empty_cache()  # FREED LINE

    def request(self, number):
        if number == GROWS_AT:
            self.grow()
        self.positions.fill_(number)
        self.graph.replay()
        return self.result.item()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # buffers an answer, so that it is sent as one packet

    def do_GET(self):
        try:
            status, text = 200, str(model.request(int(self.path[1:])))
        except RuntimeError as e:
            status, text = 500, str(e).splitlines()[0]
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


model = Model()
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = http.client.HTTPConnection(*server.server_address)
failed = 0
for number in range(REQUESTS):
    client.request("GET", f"/{number}")
    answer = client.getresponse()
    answer.read()
    failed += answer.status != 200
print(f"{failed} of {REQUESTS} requests failed", flush=True)
sys.exit(3 if failed else 0)
