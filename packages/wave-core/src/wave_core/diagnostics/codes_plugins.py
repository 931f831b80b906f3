"""WV08: plugins, the pipeline, options."""

from __future__ import annotations

from wave_core.diagnostics.code import read_codes

PLUGIN_CODES = read_codes("""
WV0801: nothing of this name is installed
Cause: a pass, preset or kernel named in the options or on the command line
is not installed.
Bad:
    --disable hoist-invariant
Good:
    --disable hoist-invariants
Fix: `wave pipeline` lists the passes. What another package brings needs that
package.

WV0802: the text of a pipeline cannot be read
Cause: a pass is written `name{option=value other=value}`.
Bad:
    minimize-global-loads(max-bits: 64)
Good:
    minimize-global-loads{max-bits=64}
Fix: the note marks the place where reading stopped.

WV0803: a pass has no such option
Cause: the options of a pass are the fields of its class, written with
hyphens.
Bad:
    minimize-global-loads{max-bit=64}
Good:
    minimize-global-loads{max-bits=64}
Fix: choose from the options that the message lists.

WV0804: an option of a pass cannot have this value
Cause: the value is not of the option's type.
Bad:
    minimize-global-loads{max-bits=wide}
Good:
    minimize-global-loads{max-bits=128}
Fix: give a value of the kind that the message names.

WV0805: passes wait for each other in a circle
Cause: `after`, `before` and needed facts of these passes leave no first
one.
Bad:
    PassSpec("a", ..., after=("b",)); PassSpec("b", ..., after=("a",))
Good:
    PassSpec("a", ...); PassSpec("b", ..., after=("a",))
Fix: drop one of the relations that the message lists.

WV0806: a pass wants an order that its phase forbids
Cause: phases run in a fixed order; `after` and `before` order passes of
compatible phases only.
Bad:
    PassSpec("a", Phase.INFER, ..., after=("schedule-loops",))
Good:
    PassSpec("a", Phase.SCHEDULE, ..., after=("schedule-loops",))
Fix: move the pass to another phase, or drop the relation.

WV0807: a pass refers to one that is not installed
Cause: a name in `after`, `before` or `replaces` is unknown.
Bad:
    after=("hoist-invariants",)       # of a package that may be absent
Good:
    after=("hoist-invariants?",)
Fix: a trailing `?` means "if installed"; else depend on the package.

WV0808: a pass needs a fact that does not hold there
Cause: no pass before it provides the fact, or one in between clobbers it.
Bad:
    PassSpec("a", Phase.INFER, ..., requires=("expanded",))
Good:
    PassSpec("a", Phase.OPTIMIZE, ..., requires=("expanded",))
Fix: run later, or enable the pass that provides the fact.

WV0809: a pass is declared wrongly
Cause: a field of its `PassSpec` or of its class is malformed: a name that
is no kebab-case verb phrase, an option without a default.
Bad:
    PassSpec("MyPass", Phase.OPTIMIZE, "my_package.my_pass.MyPass")
Good:
    PassSpec("my-pass", Phase.OPTIMIZE, "my_package.my_pass:MyPass")
Fix: as the message says; the plugin how-to shows a whole declaration.

WV0810: a fact is provided twice
Cause: two enabled passes provide one fact, and neither replaces the other.
Bad:
    both PassSpec("a", ..., provides=("scheduled",)) and "b" alike
Good:
    PassSpec("b", ..., provides=("scheduled",), replaces=("a",))
Fix: disable one, or let one replace the other.

WV0811: replacements of passes contradict each other
Cause: two passes replace the same one, or each other.
Bad:
    "fast-barriers" and "small-barriers" both replace "insert-safe-barriers"
Good:
    disable "small-barriers"
Fix: disable one of the passes that the message names.

WV0812: two plugins give the same name
Cause: names of plugins, passes, ops, targets and so on are unique; who came
first must not matter.
Bad:
    two packages that both register a pass "pack-buffers"
Good:
    "acme-pack-buffers"
Fix: rename one, uninstall one, or turn one off with WAVE_DISABLE_PLUGINS.

WV0813: a backend needs a fact that the pipeline does not establish
Cause: at the end of the pipeline the fact does not hold, often because a
pass was disabled.
Bad:
    --disable insert-safe-barriers
Good:
    the pipeline as it is
Fix: enable a pass that provides the fact; the note names candidates.

WV0814: a pass cannot be loaded
Cause: the import path of a `PassSpec` leads nowhere, the import fails, or
what it finds is not a pass of that name.
Bad:
    PassSpec("my-pass", ..., "my_package.my_pass:my_pass")
Good:
    PassSpec("my-pass", ..., "my_package.my_pass:MyPass")
Fix: name a frozen dataclass that is a `Pass`.

WV0815: two lowering rules match an op equally well
Cause: both apply and have the same benefit, so nothing decides.
Bad:
    @lowers(Mma) in two packages
Good:
    @lowers(Mma, when=has_wide_mma, benefit=2)
Fix: raise the benefit of the special rule, or narrow `when`.

WV0816: a plugin cannot be imported
Cause: the module named by its entry point raised an error.
Bad:
    import a_module_that_is_missing       # in my_package/plugin.py
Good:
    import it inside the function that needs it, and declare the dependency
Fix: reinstall or update the package; WAVE_DISABLE_PLUGINS=name runs without
it.

WV0817: a plugin was made for another version of the plugin API
Cause: the plugin's `REQUIRES_API` says what it needs: it is newer than this
core, of an older major version, or missing.
Bad:
    REQUIRES_API = "1"
Good:
    REQUIRES_API = (1, 0)
Fix: update the older of the two packages.

WV0818: a hook of a plugin does not fit its specification
Cause: a hook has parameters the specification lacks, or returns something
else than an iterable of the declared type.
Bad:
    def wave_register_passes(): return "my-pass"
Good:
    def wave_register_passes(): return [PassSpec("my-pass", ...)]
Fix: follow the signature that the reference shows.

WV0819: a hook or a rule of a plugin failed
Cause: the hook, a rule that it registered, or a method of an op class (`infer`,
`compute`), raised an error of its own, or gave what cannot be, such as a layout
that leaves elements of a tile out.
Bad:
    def wave_register_targets(): return [read_rows("missing.json")]
Good:
    def wave_register_targets(): return TARGETS
Fix: the message has the error; report it to the plugin's authors.

WV0820: there is no such diagnostic code
Cause: `wave explain` was asked for a code that nobody declares.
Bad:
    wave explain WV203
Good:
    wave explain WV0203
Fix: copy the code from the brackets of a message. Codes of a plugin are
known only while it is installed.

WV0821: there is no such compile option
Cause: `WaveCompileOptions` has no field of that name, and no installed
package adds it.
Bad:
    WaveCompileOptions(substitutions={M: 512})
Good:
    WaveCompileOptions(subs={M: 512})
Fix: the message names the closest ones.

WV0822: a symbol is bound wrongly
Cause: `subs` maps symbols to whole numbers, or to expressions of other
bound symbols; a symbol is either bound or dynamic.
Bad:
    WaveCompileOptions(subs={M: 512.5}, dynamic_symbols=[M])
Good:
    WaveCompileOptions(subs={M: 512})
Fix: bind each symbol once, to a number.

WV0823: a compile option has an unfit value
Cause: the value is of the wrong type or out of range.
Bad:
    WaveCompileOptions(dynamic_symbols=M)
Good:
    WaveCompileOptions(dynamic_symbols=[M])
Fix: give what the message asks for.

WV0824: a compile option belongs to a package that is not installed
Cause: the option steers passes of another package.
Bad:
    WaveCompileOptions(schedule="prefetch")     # wave-core alone
Good:
    pip install wave-passes-scheduling
Fix: install the package that the message names, or drop the option.

WV0825: an environment variable has an unfit value
Cause: a variable that configures Wave cannot be read.
Bad:
    WAVE_CACHE=maybe
Good:
    WAVE_CACHE=off
Fix: set a value that the message lists, or unset it.

WV0826: what is to be compiled is not a kernel
Cause: `wave_compile` takes a function decorated with `@wave`. `wave run` and
`wave bisect` take a function that makes a `KernelCase`: a kernel with sizes,
arguments and a reference. Other commands make up arguments of a kernel.
Bad:
    wave_compile(options, torch.matmul)
Good:
    wave_compile(options, gemm)          # @tkw.wave(constraints) def gemm
Fix: decorate the function; options come first. For `wave run`, name a
function (shape, settings, target) -> KernelCase.

WV0827: core cannot be turned off
Cause: WAVE_DISABLE_PLUGINS names Wave's own passes, without which nothing
compiles.
Bad:
    WAVE_DISABLE_PLUGINS=core
Good:
    WAVE_DISABLE_PLUGINS=memory,scheduling
Fix: name plugins only; single passes of core can be disabled by name.

WV0828: a pass that the result depends on is disabled
Cause: without this pass a valid kernel would give wrong results or could not
be compiled, so it can be replaced but not left out.
Bad:
    --disable insert-safe-barriers
Good:
    install a plugin whose pass replaces it
Fix: leave it enabled.

WV0829: a view of a kernel cannot be computed
Cause: a plugin that shows something of a kernel could not make it. The view
of cycles executes the kernel once, which takes too long at large sizes.
Bad:
    wave inspect attention --target gfx942 --what cycles
Good:
    wave inspect attention --target gfx942 --what cycles --shape M=256,K2=256
Fix: what the message names; for cycles, choose smaller sizes.

WV0840: a project cannot have this name
Cause: the name of a project that `wave init` writes is that of a
distribution, and with underscores that of a module.
Bad:
    wave init torch
Good:
    wave init my-kernels
Fix: choose small letters and digits with hyphens between, which name no
module that is installed.

WV0841: a project would be written over something
Cause: `wave init` makes a new folder, and there is a file or a folder of
that name.
Bad:
    wave init my-kernels; wave init my-kernels
Good:
    wave init my-kernels -o elsewhere
Fix: choose another name or folder, or remove what is there.
""")
