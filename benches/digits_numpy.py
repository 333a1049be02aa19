"""The training of examples/digits in numpy: what the example's time is measured against.

The same network (64-128-10, relu, softmax cross-entropy), the same Adam, the same batches, f32 throughout, gradients by
hand. As in the example, only batches and steps count as training time.

usage: digits_numpy.py DIGITS.csv.gz [EPOCHS [BATCH [SEED]]]
"""

import gzip
import sys
import time

import numpy as np

HIDDEN, CLASSES, RATE = 128, 10, 3e-3


def main(path, epochs=30, batch=32, seed=0):
    epochs, batch, random = int(epochs), int(batch), np.random.default_rng(int(seed))
    with gzip.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.float32)
    images, labels = table[:, :-1] / 16, table[:, -1].astype(int)
    order = random.permutation(len(images))
    training, test = np.split(order, [len(images) * 4 // 5])

    def normal(rows, columns):
        return (random.standard_normal((rows, columns)) * np.sqrt(2 / rows)).astype(np.float32)

    parameters = [
        normal(images.shape[1], HIDDEN),
        np.zeros(HIDDEN, np.float32),
        normal(HIDDEN, CLASSES),
        np.zeros(CLASSES, np.float32),
    ]
    first = [np.zeros_like(p) for p in parameters]
    second = [np.zeros_like(p) for p in parameters]
    one_hot = np.eye(CLASSES, dtype=np.float32)
    steps, seconds = 0, 0.0
    for _ in range(epochs):
        start = time.perf_counter()
        random.shuffle(training)
        for at in range(0, len(training) - batch + 1, batch):
            rows = training[at : at + batch]
            x, y = images[rows], one_hot[labels[rows]]
            w1, b1, w2, b2 = parameters
            hidden = np.maximum(x @ w1 + b1, 0)
            logits = hidden @ w2 + b2
            exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
            probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
            d_logits = (probabilities - y) / np.float32(batch)
            d_hidden = (d_logits @ w2.T) * (hidden > 0)
            gradient = [x.T @ d_hidden, d_hidden.sum(axis=0), hidden.T @ d_logits, d_logits.sum(axis=0)]
            steps += 1
            rate = np.float32(RATE * np.sqrt(1 - 0.999**steps) / (1 - 0.9**steps))
            for p, g, m, v in zip(parameters, gradient, first, second):
                m += np.float32(0.1) * (g - m)
                v += np.float32(0.001) * (g * g - v)
                p -= rate * m / (np.sqrt(v) + np.float32(1e-8))
        seconds += time.perf_counter() - start
    w1, b1, w2, b2 = parameters
    predictions = (np.maximum(images[test] @ w1 + b1, 0) @ w2 + b2).argmax(axis=1)
    print(f"training {seconds:.3f} s", file=sys.stderr)
    print(f"test accuracy: {np.mean(predictions == labels[test]):.3f}")


main(*sys.argv[1:])
