#!/usr/bin/env python3
"""Train a small convolutional network on scikit-learn's handwritten digits and export it as digits.onnx.

    python3 -m venv venv && venv/bin/pip install -r requirements.txt && venv/bin/python train.py

Writes, beside this file, `digits.onnx` and one test image of each digit as `samples/digit-N.pgm`. Prints the accuracy on
the test split. Everything is seeded.

The network takes `image`, float32 [1, 1, 8, 8] with grey levels scaled to 0..1, and gives `scores`, float32 [1, 10]: one
score for each digit, the highest being the answer.
"""

from pathlib import Path

import numpy
import onnx
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

FOLDER = Path(__file__).resolve().parent
WHITE = 16  # the data's grey levels are 0..16
EPOCHS = 60
BATCH = 64


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 64),
        nn.ReLU(),
        nn.Dropout(0.25),
        nn.Linear(64, 10),
    )


def train(model, images, labels):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    model.train()
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(images)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images[chosen]), labels[chosen]).backward()
            optimizer.step()
        schedule.step()
    model.eval()


def write_pgm(path, pixels, comment):
    """Write an image of grey levels 0..16 as plain PGM text."""
    rows = "\n".join(" ".join(f"{int(value):2}" for value in row) for row in pixels)
    height, width = pixels.shape
    path.write_text(f"P2\n# {comment}\n{width} {height}\n{WHITE}\n{rows}\n")


def drop_notes(path):
    """Drop the exporter's notes, which name source files of the machine that ran it."""
    exported = onnx.load(path)
    graph = exported.graph
    for item in (exported, graph, *graph.node, *graph.input, *graph.output, *graph.value_info, *graph.initializer):
        item.ClearField("metadata_props")
    onnx.save(exported, path)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    digits = load_digits()
    numbers = numpy.arange(len(digits.target))
    train_numbers, test_numbers = train_test_split(numbers, test_size=0.25, random_state=0, stratify=digits.target)
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / WHITE
    labels = torch.tensor(digits.target)

    model = network()
    train(model, images[train_numbers], labels[train_numbers])
    with torch.no_grad():
        answers = model(images[test_numbers]).argmax(dim=1)
    correct = (answers == labels[test_numbers]).numpy()
    print(f"test accuracy: {correct.mean():.2%} of {len(correct)} images")

    torch.onnx.export(
        model,
        (images[:1],),
        FOLDER / "digits.onnx",
        input_names=["image"],
        output_names=["scores"],
        opset_version=18,
        dynamo=True,
        external_data=False,
    )
    drop_notes(FOLDER / "digits.onnx")
    samples = FOLDER / "samples"
    samples.mkdir(exist_ok=True)
    for digit in range(10):
        number = next(n for n in test_numbers if digits.target[n] == digit)
        write_pgm(samples / f"digit-{digit}.pgm", digits.images[number], f"image {number} of scikit-learn's digits")


if __name__ == "__main__":
    main()
