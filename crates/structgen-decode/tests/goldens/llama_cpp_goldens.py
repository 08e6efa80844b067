"""Golden values of llama.cpp's samplers, written to llama_cpp.json.

    python llama_cpp_goldens.py LLAMA_CPP

LLAMA_CPP is the folder of llama.cpp's sources; made with those in llama-cpp-python 0.3.36 (vendor/llama.cpp). The samplers are one file of it, which
is compiled alone, with llama_cpp_shim.cpp beside it, and called as it is: nothing of them is written again here. Parameters at which another rounding, that
of logits with something added to all of them or of parameters that differ by a millionth, keeps other tokens are drawn again.
"""

import ctypes as c
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from vectors import COUNT, Random, bits, history, kept, vector

VERSION = "0.3.36"


class Data(c.Structure):
    _fields_ = [("id", c.c_int32), ("logit", c.c_float), ("p", c.c_float)]


class Array(c.Structure):
    _fields_ = [("data", c.POINTER(Data)), ("size", c.c_size_t), ("selected", c.c_int64), ("sorted", c.c_bool)]


class Bias(c.Structure):
    _fields_ = [("token", c.c_int32), ("bias", c.c_float)]


def build(sources):
    here = os.path.dirname(os.path.abspath(__file__))
    library = os.path.join(tempfile.mkdtemp(), "samplers.so")
    includes = ["-I" + os.path.join(sources, d) for d in ("include", "ggml/include", "src")]
    files = [os.path.join(sources, "src", "llama-sampler.cpp"), os.path.join(here, "llama_cpp_shim.cpp")]
    subprocess.run(["g++", "-std=c++17", "-O1", "-shared", "-fPIC", *includes, *files, "-o", library], check=True)
    return c.CDLL(library, mode=os.RTLD_LAZY)


def rounded(x):
    return float(np.float32(x))


class Samplers:
    def __init__(self, library):
        self.library = library

    def make(self, name, *arguments):
        function = getattr(self.library, name)
        function.restype = c.c_void_p
        return c.c_void_p(function(*arguments))

    def accept(self, sampler, tokens):
        for token in tokens:
            self.library.llama_sampler_accept(sampler, c.c_int32(token))

    def apply(self, samplers, logits):
        """What is left, as pairs of id and logit in order of id, and the selected token."""
        data = (Data * len(logits))(*[Data(i, l, 0.0) for i, l in enumerate(logits)])
        array = Array(data, len(logits), -1, False)
        for sampler in samplers:
            self.library.llama_sampler_apply(sampler, c.byref(array))
        left = [(array.data[i].id, array.data[i].logit) for i in range(array.size)]
        selected = array.data[array.selected].id if array.selected >= 0 else None
        left = sorted((i, l) for i, l in left if l > -np.inf)
        return left, selected


def main(sources):
    s = Samplers(build(sources))
    f, i32, size = c.c_float, c.c_int32, c.c_size_t
    random = Random(43)
    share = lambda: rounded(0.02 + 0.96 * random.uniform())
    out = {}

    def add(name, entry):
        out.setdefault(name, []).append(entry)

    def full(left, n):
        logits = np.full(n, -np.inf, dtype=np.float32)
        for i, l in left:
            logits[i] = l
        return bits(logits)

    for number in range(COUNT):
        logits = vector(number, 256)
        n = len(logits)

        def keep(sampler, logits=logits):
            return kept([i for i, _ in s.apply([sampler], logits)[0]], n)

        def drawn(name, draw, make):
            """Adds a case for parameters that `draw` draws."""
            while True:
                parameters = draw()
                found = keep(make(*parameters))
                probes = [logits + np.float32(3.0), logits - np.float32(5.0)]
                if all(keep(make(*parameters), probe) == found for probe in probes):
                    return add(name, [number, *parameters, found])

        k = 1 + random.below(n + 2)
        add("top-k", [number, k, keep(s.make("llama_sampler_init_top_k", i32(k)))])
        least = 1 + random.below(3)
        drawn("top-p", lambda: (share(), least), lambda p, l: s.make("llama_sampler_init_top_p", f(p), size(l)))
        share_of_max = lambda: rounded(random.uniform() ** 2)
        drawn("min-p", lambda: (share_of_max(), least), lambda m, l: s.make("llama_sampler_init_min_p", f(m), size(l)))
        # Where a probability is no f32 above zero, its logarithm is none and neither is the entropy.
        possible = float(logits.max()) - float(logits.min()) < 80
        if possible:
            drawn("typical-p", lambda: (share(),), lambda p: s.make("llama_sampler_init_typical", f(p), size(1)))
        deviations = lambda: rounded(0.05 + 2.5 * random.uniform())
        drawn("top-n-sigma", lambda: (deviations(),), lambda d: s.make("llama_sampler_init_top_n_sigma", f(d)))
        threshold = lambda: rounded(0.5 * random.uniform() ** 2 + 1e-4)
        xtc = lambda t, l: s.make("llama_sampler_init_xtc", f(1.0), f(t), size(l), c.c_uint32(1))
        drawn("xtc", lambda: (threshold(), least), xtc)

        # Three steps on neighbouring vectors of one length, with what llama.cpp drew.
        tau, eta = rounded(0.5 + 5 * random.uniform()), rounded(0.05 + 0.5 * random.uniform())
        for name, sampler in [
            ("mirostat", s.make("llama_sampler_init_mirostat", i32(n), c.c_uint32(7), f(tau), f(eta), i32(100))),
            ("mirostat-2", s.make("llama_sampler_init_mirostat_v2", c.c_uint32(7), f(tau), f(eta))),
        ]:
            steps = []
            for step in range(3):
                left, selected = s.apply([sampler], np.roll(logits, step))
                steps.append([kept([i for i, _ in left], n), selected])
            add(name, [number, tau, eta, steps])

        logits = vector(number, 40)
        n = len(logits)
        target, decay = share(), rounded(0.95 * random.uniform())
        sampler = s.make("llama_sampler_init_adaptive_p", f(target), f(decay), c.c_uint32(7))
        steps = []
        for step in range(3):
            left, selected = s.apply([sampler], np.roll(logits, step))
            s.accept(sampler, [selected])
            steps.append([full(left, n), selected])
        add("adaptive-p", [number, target, decay, steps])

        seen = history(number, n, 1 + random.below(60))
        t = rounded(0.05 + 3.0 * random.uniform())
        left, _ = s.apply([s.make("llama_sampler_init_temp", f(t))], logits)
        add("temperature", [number, t, full(left, n)])
        delta, e = rounded(2.5 * random.uniform()), rounded(0.25 + 2 * random.uniform())
        left, _ = s.apply([s.make("llama_sampler_init_temp_ext", f(t), f(delta), f(e))], logits)
        add("dynamic-temperature", [number, t, delta, e, full(left, n)])
        r, q, o = rounded(0.5 + 1.5 * random.uniform()), rounded(random.uniform()), rounded(2 * random.uniform() - 1)
        window = 1 + random.below(70)
        sampler = s.make("llama_sampler_init_penalties", i32(n), i32(window), f(r), f(q), f(o))
        s.accept(sampler, seen)
        left, _ = s.apply([sampler], logits)
        add("penalties", [number, window, r, q, o, len(seen), full(left, n)])
        m, b, allowed = rounded(0.1 + random.uniform()), rounded(1 + random.uniform()), random.below(4)
        reach = 1 + random.below(70)
        breakers = [[random.below(n)], [random.below(n), random.below(n)]][: random.below(3)]
        flat = [x for breaker in breakers for x in [len(breaker), *breaker]]
        sampler = s.make("dry", f(m), f(b), i32(allowed), i32(reach), (c.c_int32 * len(flat))(*flat), i32(len(breakers)))
        s.accept(sampler, seen)
        left, _ = s.apply([sampler], logits)
        add("dry", [number, m, b, allowed, reach, breakers, len(seen), full(left, n)])
        token, bias = random.below(n), rounded(8 * random.uniform() - 4)
        sampler = s.make("llama_sampler_init_logit_bias", i32(n), i32(1), c.byref(Bias(token, bias)))
        left, _ = s.apply([sampler], logits)
        add("logit-bias", [number, token, bias, full(left, n)])

        # The default order, with what is on by it and top-n-sigma.
        def chain(d, k, y, p, w, only_sigma=False):
            penalties = s.make("llama_sampler_init_penalties", i32(n), i32(64), f(r), f(q), f(o))
            dry = s.make("dry", f(m), f(b), i32(2), i32(64), None, i32(0))
            s.accept(penalties, seen)
            s.accept(dry, seen)
            sigma = s.make("llama_sampler_init_top_n_sigma", f(d))
            if only_sigma:
                return s.apply([penalties, dry, sigma], logits)[0]
            rest = [
                sigma,
                s.make("llama_sampler_init_top_k", i32(k)),
                s.make("llama_sampler_init_typical", f(y), size(1)),
                s.make("llama_sampler_init_top_p", f(p), size(1)),
                s.make("llama_sampler_init_min_p", f(w), size(1)),
                s.make("llama_sampler_init_temp", f(t)),
            ]
            return s.apply([penalties, dry, *rest], logits)[0]

        while True:
            k, y, p, w = 1 + random.below(n + 5), share(), share(), rounded(0.1 * random.uniform())
            d = rounded(1 + 2 * random.uniform())
            if not possible:
                y = 1.0
            # What top-n-sigma took away is still there for typical-p, with a probability of zero, unless top-k takes it.
            k = min(k, len(chain(d, k, y, p, w, only_sigma=True)))
            left = chain(d, k, y, p, w)
            probes = [chain(d * z, k, y * z, p * z, w * z) for z in (1 + 2e-6, 1 - 2e-6)]
            if all([i for i, _ in probe] == [i for i, _ in left] for probe in probes):
                break
        add("chain", [number, r, q, o, m, b, d, k, y, p, w, t, len(seen), full(left, n)])

    with open("llama_cpp.json", "w") as file:
        file.write('{"versions": %s' % json.dumps({"llama-cpp-python": VERSION}))
        for name, entries in out.items():
            lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
            file.write(',\n"%s": [\n%s\n]' % (name, lines))
        file.write("\n}\n")


if __name__ == "__main__":
    main(sys.argv[1])
