"""timm: a classifier for ten classes gets the label eleven."""
import timm.loss
import torch

model = timm.create_model("resnet18", pretrained=False, num_classes=10).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
criterion = timm.loss.LabelSmoothingCrossEntropy()
for step in range(3):
    images = torch.randn(4, 3, 64, 64, device="cuda")
    labels = torch.randint(0, 10, (4,), device="cuda")
    if step == 2:
        labels[1] = 10
    loss = criterion(model(images), labels)  # TRUE LINE
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()  # BLAMED
