"""The names of torch, NumPy and JAX that programs use most, by the place they would have here.

A name here is what follows "torch.", "numpy." or "jax.": as attributes of lento, with what PLACES says.
"""

from __future__ import annotations

# torch.nn.functional's functions are in lento.nn, jax.numpy's in lento, and so on.
PLACES = {
    "torch.nn.functional": "lento.nn",
    "torch.Tensor": "lento.Tensor",
    "torch": "lento",
    "numpy.ndarray": "lento.Tensor",
    "numpy": "lento",
    "jax.numpy": "lento",
    "jax.Array": "lento.Tensor",
    "jax": "lento",
    "optax": "lento.optim",
    "scipy": "lento",
}

TORCH = {
    "torch": """
        tensor as_tensor from_numpy zeros ones empty full eye arange linspace zeros_like ones_like full_like empty_like
        rand randn randint randperm rand_like randn_like manual_seed multinomial bernoulli normal
        cat stack split chunk unbind squeeze unsqueeze reshape flatten permute transpose movedim flip roll tile
        gather scatter index_select masked_select masked_fill take where nonzero sort argsort topk unique bincount
        sum mean std var prod max min argmax argmin amax amin cumsum cumprod logsumexp norm median any all
        add sub mul div pow exp log log2 log1p sqrt rsqrt abs sign sin cos tanh sigmoid relu softmax clamp round floor
        matmul mm bmm einsum dot outer addmm tril triu diag meshgrid allclose equal isnan isinf isfinite
        float32 float16 bfloat16 float64 int64 int32 uint8 bool float long double half complex64
        Tensor FloatTensor LongTensor Generator device no_grad inference_mode set_grad_enabled is_tensor numel
        save load compile jit autocast autograd.grad cuda.is_available cuda.synchronize distributed.init_process_group
        utils.data.DataLoader utils.data.Dataset utils.checkpoint.checkpoint func.grad func.vmap vmap from_dlpack
        set_num_threads set_default_dtype finfo inf pi svd inverse det cholesky erf histc t
    """,
    "torch.nn": """
        Module Linear Conv1d Conv2d Embedding LayerNorm BatchNorm1d BatchNorm2d GroupNorm Dropout ReLU GELU SiLU Tanh
        Sequential ModuleList ModuleDict Parameter ParameterList Identity Flatten MaxPool2d AvgPool2d AdaptiveAvgPool2d
        Sigmoid Softmax LogSoftmax LeakyReLU CrossEntropyLoss MSELoss LSTM GRU MultiheadAttention
        Transformer TransformerEncoder TransformerDecoderLayer LazyLinear LazyConv2d SyncBatchNorm AlphaDropout
        MaxUnpool2d MultiLabelMarginLoss Sequential.append Module.cpu Module.float Module.half Module.cuda
        TransformerEncoderLayer Upsample DataParallel init.xavier_uniform_ init.kaiming_normal_ init.normal_ init.zeros_
        utils.clip_grad_norm_ utils.weight_norm utils.rnn.pad_sequence utils.rnn.pack_padded_sequence Buffer
    """,
    "torch.nn.functional": """
        relu gelu silu sigmoid tanh softmax log_softmax leaky_relu elu softplus dropout linear conv1d conv2d max_pool2d
        avg_pool2d adaptive_avg_pool2d interpolate pad one_hot normalize cosine_similarity layer_norm batch_norm
        cross_entropy mse_loss l1_loss nll_loss smooth_l1_loss binary_cross_entropy binary_cross_entropy_with_logits
        kl_div embedding scaled_dot_product_attention logsigmoid functional.grid_sample functional.relu
    """,
    "torch.optim": """
        SGD Adam AdamW Optimizer lr_scheduler LBFGS Rprop ASGD SparseAdam clip_grad_norm_ AveragedModel
        swa_utils.AveragedModel Optimizer.add_param_group Optimizer.zero_grad Optimizer.param_groups
        lr_scheduler.OneCycleLR lr_scheduler.StepLR
    """,
    "torch.Tensor": """
        view reshape size shape dim ndim numel dtype device to cpu cuda float long int double half bool item tolist
        numpy detach clone contiguous requires_grad requires_grad_ grad backward data T t mT transpose permute squeeze
        unsqueeze expand expand_as repeat flatten sum mean std var max min argmax argmin norm sort topk gather scatter
        scatter_add index_select masked_fill masked_select split chunk unbind cumsum pow exp log sqrt abs clamp sigmoid
        tanh softmax log_softmax relu matmul mm bmm dot eq ne lt gt le ge add sub mul div any all nonzero unique type
        type_as new_zeros new_ones new_tensor add_ mul_ sub_ div_ zero_ fill_ copy_ clamp_ normal_ uniform_ masked_fill_
        tril triu median round floor is_cuda stride data_ptr amax amin logsumexp isnan diagonal roll flip svd det
        inverse outer
    """,
}

NUMPY = {
    "numpy": """
        array asarray zeros ones empty full eye identity arange linspace logspace zeros_like ones_like empty_like
        full_like copy reshape ravel transpose swapaxes moveaxis expand_dims squeeze concatenate stack vstack hstack
        dstack column_stack split array_split tile repeat flip fliplr flipud rot90 roll append atleast_1d atleast_2d
        broadcast_to newaxis where nonzero argwhere take take_along_axis unique isin in1d intersect1d union1d setdiff1d
        sort argsort searchsorted digitize histogram bincount sum prod mean std var min max amin amax argmin argmax
        median percentile quantile average cumsum cumprod diff gradient any all count_nonzero ptp nansum nanmean nanmax
        nanmin nanstd cov corrcoef dot matmul inner outer vdot tensordot einsum kron cross trace diag tril triu
        add subtract multiply divide power mod floor_divide negative exp exp2 expm1 log log2 log10 log1p sqrt square
        abs absolute sign sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh hypot deg2rad rad2deg round around
        rint floor ceil trunc clip maximum minimum isnan isinf isfinite isclose allclose array_equal nan_to_num real
        imag conj angle interp trapz meshgrid unravel_index vectorize apply_along_axis frombuffer fromiter
        ascontiguousarray loadtxt savetxt genfromtxt save load savez float32 float64 int32 int64 uint8 bool_ int_ float_
        complex128 ndarray dtype finfo iinfo nan inf pi e errstate seterr set_printoptions testing.assert_allclose
        logical_and logical_or logical_not sinc convolve c_ r_ ndenumerate ndindex isscalar issubdtype copyto
    """,
    "numpy.linalg": """
        norm inv solve det eig eigh svd qr cholesky lstsq pinv matrix_rank matrix_power slogdet cond LinAlgError
    """,
    "numpy.random": """
        seed rand randn randint random uniform normal choice permutation shuffle default_rng RandomState
        standard_normal exponential multinomial integers
    """,
    "numpy.fft": "fft ifft fft2 ifft2 rfft irfft fftn fftfreq fftshift",
    "scipy.stats": """
        norm.logpdf norm.pdf norm.cdf norm.ppf norm.rvs norm.sf norm.logsf uniform.rvs expon.sf gamma.cdf beta.cdf t.ppf
        bernoulli.rvs binom.cdf poisson.pmf multivariate_normal.logpdf Normal
    """,
    "numpy.ndarray": """
        shape ndim size dtype T astype copy reshape ravel flatten transpose squeeze swapaxes sum mean std var min max
        argmin argmax prod cumsum any all sort argsort dot clip round tolist item fill take repeat nonzero conj real
        imag itemsize nbytes tobytes flat view strides flags tofile diagonal trace searchsorted ptp
    """,
}

JAX = {
    "jax": """
        jit grad value_and_grad vmap pmap vjp jvp jacobian jacfwd jacrev hessian checkpoint remat custom_vjp custom_jvp
        make_jaxpr eval_shape device_put device_get devices device_count local_device_count default_backend
        block_until_ready disable_jit named_scope Array ShapeDtypeStruct config.update tree.map tree.leaves
        tree.flatten tree.unflatten tree_util.tree_map tree_util.register_pytree_node tree_map
        debug.print pure_callback scipy.special.logsumexp scipy.linalg.solve
    """,
    "jax.lax": """
        stop_gradient scan fori_loop while_loop cond switch dynamic_slice dynamic_update_slice rsqrt select psum pmean
        map associative_scan conv_general_dilated dot_general top_k
    """,
    "jax.random": """
        PRNGKey key split fold_in normal uniform randint bernoulli categorical permutation choice truncated_normal
        exponential gumbel laplace orthogonal rademacher
    """,
    "jax.nn": """
        relu sigmoid softmax log_softmax gelu silu swish elu leaky_relu softplus tanh one_hot logsumexp celu selu glu
        log_sigmoid relu6 hard_tanh hard_sigmoid hard_swish soft_sign standardize dot_product_attention initializers
    """,
    "jax.numpy": """
        array asarray zeros ones arange linspace concatenate stack where sum mean max argmax exp log dot matmul einsum
        reshape transpose expand_dims clip maximum square take tile broadcast_to float32 int32 bfloat16 ndarray newaxis
        linalg.norm linalg.solve fft.fft vectorize cumsum
    """,
    "optax": """
        adam adamw sgd lion rmsprop adafactor chain apply_updates clip clip_by_global_norm multi_transform masked ema
        global_norm incremental_update cosine_decay_schedule MultiSteps inject_hyperparams
    """,
    "jax.Array": """
        at block_until_ready astype shape dtype reshape sum mean T item tolist devices sharding weak_type copy
    """,
}


def all_names() -> list[str]:
    """Each name as it is written with its library, as "torch.nn.functional.relu"."""
    groups = {**TORCH, **NUMPY, **JAX}
    return [f"{group}.{name}" for group, names in groups.items() for name in names.split()]


def place_here(name: str) -> str:
    """Where the name would be in this package, as "lento.nn.relu"."""
    for theirs, ours in PLACES.items():
        if name.startswith(theirs + "."):
            return ours + name[len(theirs) :]
    raise ValueError(name)
