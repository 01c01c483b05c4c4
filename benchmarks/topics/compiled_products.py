"""Products and convolutions alone, where a library routine sets the pace; and the smallest call."""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

from benchmarks.declare import Ratio, benchmark
from benchmarks.models import scaled
from benchmarks.topics.cnn import xla

PADDING = 3


@benchmark("compiled.convolution", aims=[Ratio(1.0)], settle=1.0)
class Convolution:
    """7x7 convolution, stride 2, 1x224x224x3 to 64 channels; NumPy: the product of im2col alone."""

    def numpy(np):
        random = np.random.default_rng(0)
        patches = random.standard_normal((112 * 112, 147), dtype="float32")
        kernel = random.standard_normal((147, 64), dtype="float32")

        def product():
            np.matmul(patches, kernel)

        return product

    def tf(tf, np):
        return _tensorflow_convolution(tf, np, tf.function)

    def tensorflow_xla(tf, np):
        return _tensorflow_convolution(tf, np, xla(tf))

    def jax_jit(jax, jnp, np):
        image, kernel = map(jnp.asarray, _image(np))

        @jax.jit
        def convolve(image, kernel):
            numbers, padding = ("NHWC", "HWIO", "NHWC"), [(PADDING, PADDING)] * 2
            return jax.lax.conv_general_dilated(
                image, kernel, (2, 2), padding, dimension_numbers=numbers
            )

        return lambda: convolve(image, kernel).block_until_ready()

    def torch(torch, np):
        return _torch_convolution(torch, np, torch.contiguous_format, lambda function: function)

    def torch_channels_last(torch, np):
        return _torch_convolution(torch, np, torch.channels_last, lambda function: function)

    def torch_compiled(torch, np):
        return _torch_convolution(torch, np, torch.contiguous_format, torch.compile)


def _image(np):
    """An image and a kernel, channels last."""
    random = np.random.default_rng(0)
    image = random.standard_normal((1, 224, 224, 3), dtype="float32")
    return image, scaled(random, (7, 7, 3, 64))


def _tensorflow_convolution(tf, np, compiled):
    image, kernel = map(tf.constant, _image(np))
    padding = [[0, 0], [PADDING, PADDING], [PADDING, PADDING], [0, 0]]

    @compiled
    def convolve(image, kernel):
        return tf.nn.conv2d(image, kernel, strides=2, padding=padding)

    return lambda: convolve(image, kernel)


def _torch_convolution(torch, np, layout, compiled):
    image, kernel = _image(np)
    image = torch.from_numpy(image).permute(0, 3, 1, 2).contiguous(memory_format=layout)
    kernel = torch.from_numpy(kernel).permute(3, 2, 0, 1).contiguous(memory_format=layout)

    @compiled
    def convolve(image, kernel):
        return torch.nn.functional.conv2d(image, kernel, stride=2, padding=PADDING)

    def convolved():
        with torch.no_grad():
            return convolve(image, kernel)

    return convolved


LAYERS = {"56x64": (56, 64), "28x128": (28, 128), "14x256": (14, 256), "7x512": (7, 512)}


@benchmark("compiled.layer", aims=[Ratio(1.0)], sweep={"layer": list(LAYERS)}, settle=1.0)
class Layer:
    """A 3x3 convolution of ResNet (size x channels) of 8 images, and its two gradients."""

    def tf(tf, np, layer):
        return _tensorflow_layer(tf, np, layer, tf.function)

    def tensorflow_xla(tf, np, layer):
        return _tensorflow_layer(tf, np, layer, xla(tf))

    def jax_jit(jax, jnp, np, layer):
        images, kernel, slopes = map(jnp.asarray, _layer(np, layer))

        def convolve(images, kernel):
            numbers = ("NHWC", "HWIO", "NHWC")
            return jax.lax.conv_general_dilated(
                images, kernel, (1, 1), "SAME", dimension_numbers=numbers
            )

        @jax.jit
        def all_three(images, kernel, slopes):
            made, pull = jax.vjp(convolve, images, kernel)
            return made, *pull(slopes)

        return lambda: jax.block_until_ready(all_three(images, kernel, slopes))

    def torch(torch, np, layer):
        return _torch_layer(torch, np, layer, torch.contiguous_format)

    def torch_channels_last(torch, np, layer):
        return _torch_layer(torch, np, layer, torch.channels_last)


def _layer(np, layer):
    """Images, a kernel, and the slopes of the results."""
    size, channels = LAYERS[layer]
    random = np.random.default_rng(0)
    images, slopes = random.standard_normal((2, 8, size, size, channels), dtype="float32")
    return images, scaled(random, (3, 3, channels, channels)), slopes


def _torch_layer(torch, np, layer, layout):
    images, kernel, slopes = map(torch.from_numpy, _layer(np, layer))
    images, slopes = [
        x.permute(0, 3, 1, 2).contiguous(memory_format=layout) for x in (images, slopes)
    ]
    kernel = kernel.permute(3, 2, 0, 1).contiguous(memory_format=layout)
    images.requires_grad_(), kernel.requires_grad_()

    def all_three():
        made = torch.nn.functional.conv2d(images, kernel, padding=1)
        first, second = torch.autograd.grad(made, [images, kernel], slopes)
        made, first = [x.detach().permute(0, 2, 3, 1) for x in (made, first)]
        return made, first, second.permute(2, 3, 1, 0)

    return all_three


def _tensorflow_layer(tf, np, layer, compiled):
    images, kernel, slopes = map(tf.constant, _layer(np, layer))

    @compiled
    def all_three(images, kernel, slopes):
        with tf.GradientTape() as tape:
            tape.watch([images, kernel])
            made = tf.nn.conv2d(images, kernel, 1, "SAME")
        return made, *tape.gradient(made, [images, kernel], slopes)

    return lambda: all_three(images, kernel, slopes)


@benchmark("compiled.product", aims=[Ratio(1.05, of="numpy")], settle=1.0)
class Product:
    """The product of two 2048x2048 matrices; the aim is 95 % of the speed of NumPy's BLAS."""

    def numpy(np):
        a, b = _matrices(np, 2048)
        return lambda: a @ b

    def tf(tf, np):
        a, b = map(tf.constant, _matrices(np, 2048))
        product = tf.function(tf.matmul)
        return lambda: product(a, b)

    def tensorflow_xla(tf, np):
        a, b = map(tf.constant, _matrices(np, 2048))
        product = xla(tf)(tf.matmul)
        return lambda: product(a, b)

    def jax_jit(jax, jnp, np):
        a, b = map(jnp.asarray, _matrices(np, 2048))
        product = jax.jit(jnp.matmul)
        return lambda: product(a, b).block_until_ready()

    def torch(torch, np):
        a, b = map(torch.from_numpy, _matrices(np, 2048))
        return lambda: torch.matmul(a, b)


@benchmark("compiled.call", aims=[Ratio(0.7)], settle=1.0)
class Call:
    """tanh(a @ a).sum() of a 32x32 matrix: what a call costs where there is little to compute."""

    def numpy(np):
        a, _ = _matrices(np, 32)
        return lambda: np.tanh(a @ a).sum()

    def tf(tf, np):
        return _tensorflow_call(tf, np, tf.function)

    def tensorflow_xla(tf, np):
        return _tensorflow_call(tf, np, xla(tf))

    def jax_jit(jax, jnp, np):
        a = jnp.asarray(_matrices(np, 32)[0])
        total = jax.jit(lambda a: jnp.tanh(a @ a).sum())
        return lambda: total(a).block_until_ready()

    def torch(torch, np):
        a = torch.from_numpy(_matrices(np, 32)[0])
        return lambda: torch.tanh(a @ a).sum()

    def torch_compiled(torch, np):
        a = torch.from_numpy(_matrices(np, 32)[0])
        total = torch.compile(lambda a: torch.tanh(a @ a).sum())
        return lambda: total(a)


def _tensorflow_call(tf, np, compiled):
    a = tf.constant(_matrices(np, 32)[0])
    total = compiled(lambda a: tf.reduce_sum(tf.tanh(tf.matmul(a, a))))
    return lambda: total(a)


def _matrices(np, size):
    """Two square matrices whose product has entries near one; positive, so that sums are not 0."""
    random = np.random.default_rng(0)
    scale = np.float32(2 * size**-0.5)
    return [random.random((size, size), dtype="float32") * scale for _ in range(2)]


@benchmark("compiled.session", aims=[Ratio(0.15, of="tensorflow")], settle=1.0)
class Session:
    """session.run of tanh(x @ x).sum() of a 32x32 variable, fetched again and again."""

    def tf(tf, np):
        v1 = tf.compat.v1
        with tf.Graph().as_default():
            x = v1.Variable(_matrices(np, 32)[0], use_resource=True)
            total = tf.reduce_sum(tf.tanh(tf.matmul(x, x)))
            session = v1.Session()
            session.run(v1.global_variables_initializer())
        return lambda: session.run(total)
