"""Hugging Face: a token for which the model has no embedding (train, own_loss, generate), or more tokens than the model
has positions (positions). These use one GPU. "replicated" is like "train" on several GPUs, where the Trainer runs the
model in its own threads."""
import os
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
if sys.argv[1] != "replicated":
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"
import torch  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments  # noqa: E402

which = sys.argv[1]
model = GPT2LMHeadModel(GPT2Config(vocab_size=500, n_positions=64, n_embd=32, n_layer=2, n_head=2)).cuda()


class Sentences(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        ids = torch.arange(16) + i
        if i == 37:
            ids[3] = 500
        return {"input_ids": ids, "labels": ids.clamp(max=499)}


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **more):
        labels = inputs.pop("labels")
        scores = model(**inputs).logits  # TRUE LINE own_loss
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten(), label_smoothing=0.1)
        return (loss, scores) if return_outputs else loss


def train(trainer):
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(folder, num_train_epochs=1, per_device_train_batch_size=4, report_to=[],
                                     disable_tqdm=True, save_strategy="no", logging_strategy="no")
        trainer(model=model, args=settings, train_dataset=Sentences()).train()  # TRUE LINE train, TRUE LINE replicated


def generate(length):
    prompt = torch.randint(0, 499, (2, length), device="cuda")
    if which == "generate":
        prompt[1, 4] = 500
    settings = dict(max_new_tokens=4, do_sample=False, pad_token_id=0)
    out = model.generate(prompt, **settings)  # TRUE LINE generate, TRUE LINE positions
    print(out.shape, out.sum().item())  # BLAMED generate, BLAMED positions


if which in ("train", "own_loss", "replicated"):
    train(Weighted if which == "own_loss" else Trainer)
else:
    generate(96 if which == "positions" else 16)
