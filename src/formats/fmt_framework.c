/* SPDX-License-Identifier: Apache-2.0 */
/* Name tables of the framework's TLV files (docs/formats/framework.md). Input, output: none. */
#include "formats/fmt_framework.h"

#include "base/compiler.h"

#include "base/banned.h"

/* The tables are laid out by number. */
/* clang-format off */

const struct mp_fwk_form_info mp_fwk_forms[MP_FWK_FORMS] = {
	[MP_FWK_27] = {54, MP_FWK_NAME, 1, 1},
	[MP_FWK_23_73] = {73, MP_FWK_23_NAME, 1, 1},
	[MP_FWK_23_74] = {74, MP_FWK_23_NAME, 1, 1},
	[MP_FWK_23_65] = {65, MP_FWK_23_NAME, 1, 0},
	[MP_FWK_23_57] = {57, MP_FWK_23_NAME, 0, 0},
};

const char *const mp_fwk_module_names[MP_FWK_MODULES] = {
	"Default", "GraphExecutorPy", "RuntimeFramework", "PynativeFramework",
	"Kernel",  "Python",          "Capture",          "Other",
};

const char *const mp_fwk_stage_names[MP_FWK_STAGES] = {
	"Default", "Python",   "Capture",          "RunGraph",     "RunGrad",
	"RunOp",   "Asnumpy",  "CompileGradGraph", "WaitPipeline", "SyncStream",
};

const char *const mp_fwk_event_names[MP_FWK_EVENTS] = {
	/* 0 */ "Default", "KernelInfer", "KernelResize", "KernelInferAndResize", "KernelLaunch",
	/* 5 */ "KernelLaunckCallback", "KernelUpdate", "KernelPrepareData", "GraphLaunch", "InputProcess",
	/* 10 */ "OutputProcess", "WaitTaskFinish", "PreLaunch", "PostLaunch", "SendOutput",
	/* 15 */ "MemoryAlloc", "MemoryFree", "CopyData", "StreamSync", "ProcessMultiStream",
	/* 20 */ "WaitKernelsInferFinish", "WaitKernelsResizeFinish", "WaitKernelsLaunchFinish",
	/* 23 */ "KernelInferInner", "KernelInferDataSync", "KernelResizeInner", "KernelLaunchInner",
	/* 27 */ "BackendGraphRunInner", "RunOp", "PyNativeFrontendTask", "PyNativeBackendTask",
	/* 31 */ "PyNativeDeviceTask", "PyNativeLaunchTask", "PyNativeBpropTask", "Wait",
	/* 35 */ "PyNativeGilAcquire", "PyNativeCast", "PyNativeInfer", "PyNativeOpCompile",
	/* 39 */ "PyNativeGradExpander", "PyNativeGradUpdateSens", "PyNativeGradClearTopCell",
	/* 42 */ "PyNativeGradClearAutoGradCell", "PyBoostInferOutput", "PyBoostInferByOpDef",
	/* 45 */ "PyBoostCreateOutputTensor", "PyBoostDeviceTask", "PyBoostMallocInput",
	/* 48 */ "PyBoostMallocOutput", "PyBoostLaunchAclnn", "PyBoostLaunchAtb", "PyNativeNewGraph",
	/* 52 */ "PyNativeEndGraph", "PythonObserved", "CaptureRunGraph", "CaptureProcess",
	/* 56 */ "CaptureCompile", "CaptureGuard", "AclnnHitCacheStage1", "AclnnHitCacheStage2",
	/* 60 */ "AclnnMissCacheStage1", "AclnnMissCacheStage2", "AclnnUpdateAddress", "AclnnRunOp",
	/* 64 */ "RunExpanderFunc", "EmitOp", "Execute", "ReleaseResource", "NativeFunc",
};
_Static_assert(MP_COUNT(mp_fwk_event_names) == MP_FWK_EVENTS, "69 events");
