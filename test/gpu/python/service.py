"""A language model behind HTTP, built as vLLM and SGLang are: continuous batching, a cache in pages, decode graphs for
several batch sizes that share a pool, a stream of its own for copies.

service.py [FAILS_AT | switched]: prints its port. POST /generate answers with tokens, GET /statistics with what has
happened since the last time. After FAILS_AT requests, the cache is replaced, but the graphs still read the old one.
With switched, every second slice of steps runs without the recorder's wrappers (test/bench/gpu/switched_hooks.cc), and
GET /slices answers with [whether the wrappers were there, seconds of each step] for each slice.
"""
import ctypes
import http.server
import json
import os
import random
import sys
import threading
import time

import torch
import triton
import triton.language as tl
from batching import PAGE, Batcher, Request, chosen_size

SWITCHED = sys.argv[1:] == ["switched"]
FAILS_AT = int(sys.argv[1]) if len(sys.argv) > 1 and not SWITCHED else None
STEPS_OF_SLICE, WARM_UP = 20, 2  # switching evicts data from the caches
LAYERS, WIDTH, HEADS, WORDS = 6, 512, 8, 4096
SIZES = (1, 2, 4, 8, 16, 32)
PAGES, PAGES_OF_ONE = 1024, 16


@triton.jit
def read_pages(cache, tables, keys, width, PAGES_OF_ONE: tl.constexpr, TOKENS: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.program_id(1)
    page = tl.load(tables + row * PAGES_OF_ONE + at // TOKENS)
    i = tl.arange(0, BLOCK)
    values = tl.load(cache + (page * TOKENS + at % TOKENS) * width + i)  # DEVICE LINE
    tl.store(keys + (row * PAGES_OF_ONE * TOKENS + at) * width + i, values)


class Model:
    def __init__(self):
        torch.manual_seed(1)
        self.main, self.transfer = torch.cuda.Stream(), torch.cuda.Stream()
        self.uploaded, self.decoded, self.downloaded = (torch.cuda.Event() for _ in range(3))
        shapes = {"embed": (WORDS, WIDTH), "first": (LAYERS, WIDTH, 3 * WIDTH), "out": (LAYERS, WIDTH, WIDTH),
                  "up": (LAYERS, WIDTH, 4 * WIDTH), "down": (LAYERS, 4 * WIDTH, WIDTH)}
        for name, shape in shapes.items():
            setattr(self, name, torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * 0.05)
        self.cache = self.new_cache(PAGES)
        self.inputs = torch.zeros(SIZES[-1], 2 + PAGES_OF_ONE, dtype=torch.int32, device="cuda")
        self.upload = torch.zeros(SIZES[-1], 2 + PAGES_OF_ONE, dtype=torch.int32).pin_memory()
        self.results = torch.zeros(SIZES[-1], dtype=torch.int64, device="cuda")
        self.download = torch.zeros(SIZES[-1], dtype=torch.int64).pin_memory()
        self.graphs, pool = {}, None
        torch.cuda.synchronize()
        with torch.no_grad(), torch.cuda.stream(self.main):
            for size in reversed(SIZES):  # the largest first, so that the others fit into its memory
                self.decode(size)
                torch.cuda.synchronize()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, pool=pool, stream=self.main):
                    self.decode(size)
                pool = pool or graph.pool()
                self.graphs[size] = graph
        torch.cuda.synchronize()

    @staticmethod
    def new_cache(pages):
        return torch.zeros(2, LAYERS, pages * PAGE, WIDTH, dtype=torch.bfloat16, device="cuda")

    def past(self, cache, tables, rows):
        keys = torch.empty(rows, PAGES_OF_ONE * PAGE, WIDTH, dtype=torch.bfloat16, device="cuda")
        read_pages[(rows, PAGES_OF_ONE * PAGE)](cache, tables, keys, WIDTH, PAGES_OF_ONE, PAGE, WIDTH)  # TRUE LINE
        return keys

    def decode(self, rows):
        """Reads a token of each row, and writes the next one to `results`."""
        tokens, positions = self.inputs[:rows, 0].long(), self.inputs[:rows, 1].long()
        tables = self.inputs[:rows, 2:].contiguous()
        slots = tables.gather(1, (positions // PAGE)[:, None])[:, 0].long() * PAGE + positions % PAGE
        own = PAGES_OF_ONE * PAGE  # this step's own key follows those of the pages
        steps = torch.arange(own + 1, device="cuda")[None]
        visible = ((steps < positions[:, None]) | (steps == own))[:, None, None]
        x = self.embed[tokens]
        for layer in range(LAYERS):
            query, key, value = (torch.nn.functional.rms_norm(x, (WIDTH,)) @ self.first[layer]).chunk(3, 1)
            keys = torch.cat([self.past(self.cache[0, layer], tables, rows), key[:, None]], 1)
            values = torch.cat([self.past(self.cache[1, layer], tables, rows), value[:, None]], 1)
            heads = [each.reshape(rows, -1, HEADS, WIDTH // HEADS).transpose(1, 2) for each in (query, keys, values)]
            seen = torch.nn.functional.scaled_dot_product_attention(*heads, attn_mask=visible)
            x = x + seen.transpose(1, 2).reshape(rows, WIDTH) @ self.out[layer]
            x = x + torch.nn.functional.gelu(torch.nn.functional.rms_norm(x, (WIDTH,)) @ self.up[layer]) @ self.down[layer]
            self.cache[0, layer].index_copy_(0, slots, key.contiguous())
            self.cache[1, layer].index_copy_(0, slots, value.contiguous())
        self.results[:rows] = (x @ self.embed.T).argmax(1)

    def step(self, rows):
        """Returns the next token of each row."""
        size = chosen_size(SIZES, len(rows))
        self.upload[:size].zero_()
        for i, (token, position, pages) in enumerate(rows):
            self.upload[i, :2 + len(pages)] = torch.tensor([token, position, *pages], dtype=torch.int32)
        with torch.cuda.stream(self.transfer):
            self.transfer.wait_event(self.decoded)
            self.inputs[:size].copy_(self.upload[:size], non_blocking=True)
            self.uploaded.record(self.transfer)
        with torch.cuda.stream(self.main):
            self.main.wait_event(self.uploaded)
            self.graphs[size].replay()  # REPLAY LINE
            self.decoded.record(self.main)
        with torch.cuda.stream(self.transfer):
            self.transfer.wait_event(self.decoded)
            self.download[:size].copy_(self.results[:size], non_blocking=True)
            self.downloaded.record(self.transfer)
        self.downloaded.synchronize()
        return self.download[:len(rows)].tolist()

    def grow(self):
        self.cache = self.new_cache(2 * PAGES)
        torch.cuda.empty_cache()  # FREED LINE


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Engine:
    def __init__(self, model):
        self.model, self.batcher = model, Batcher(PAGES, SIZES[-1])
        self.started, self.broken = 0, None
        self.lock, self.gaps, self.since = threading.Lock(), [], time.monotonic()
        self.slices, self.coming = [], []
        self.switch = ctypes.CDLL(None).switch_callbacks if SWITCHED else None  # from the preloaded library

    def start_step(self):
        """Begins a new slice if the last one is complete. The order within a pair of slices is random."""
        if not self.slices or len(self.slices[-1][1]) == STEPS_OF_SLICE + WARM_UP:
            self.coming = self.coming or random.sample((0, 1), 2)
            self.slices.append((self.coming.pop(), []))
            self.switch(self.slices[-1][0])
        return time.monotonic()

    def run(self):
        torch.set_grad_enabled(False)
        while not self.broken:
            before = self.started
            self.started += len(self.batcher.admit())
            start = self.start_step() if SWITCHED else 0
            try:
                if FAILS_AT is not None and before < FAILS_AT <= self.started:
                    self.model.grow()
                tokens = self.model.step(self.batcher.rows())
            except RuntimeError as e:
                self.broken = str(e).splitlines()[0]
                return self.batcher.fail_all(self.broken)
            now = time.monotonic()
            gaps = self.batcher.advance(tokens, now)
            if SWITCHED:
                self.slices[-1][1].append(time.monotonic() - start)
            with self.lock:
                self.gaps += gaps

    def statistics(self):
        with self.lock:
            gaps, self.gaps, since, self.since = self.gaps, [], self.since, time.monotonic()
        gaps.sort()
        free, total = torch.cuda.mem_get_info()
        return {"tokens": len(gaps), "seconds": self.since - since, "requests": self.started, "gpu_bytes": total - free,
                "reserved_bytes": torch.cuda.memory_reserved(), "resident_bytes": resident_bytes(),
                "p50": gaps[len(gaps) // 2] if gaps else None, "p99": gaps[len(gaps) * 99 // 100] if gaps else None}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # buffers an answer, so that it is sent as one packet

    def do_GET(self):
        if self.path == "/slices":
            slices = engine.slices[2:-1]
            return self.answer(200, [(on, steps[WARM_UP:]) for on, steps in slices[:len(slices) // 2 * 2]])
        self.answer(200, engine.statistics())

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = Request(asked["prompt"], asked["length"])
        if engine.broken:
            return self.answer(500, {"error": engine.broken})
        engine.batcher.submit(request)
        while not request.finished.wait(1):
            if engine.broken:  # the engine ended between the check and the submission
                request.error = engine.broken
                break
        self.answer(500 if request.error else 200, {"error": request.error, "tokens": request.tokens})

    def answer(self, status, content):
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


engine = Engine(Model())
threading.Thread(target=engine.run, daemon=True).start()
server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
