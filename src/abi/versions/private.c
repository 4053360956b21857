/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The private nodes. perftest, UCX, libfabric and pyverbs are linked with provider libraries of
 * rdma-core (libmlx5, libefa...). At load time such a library binds to these symbols and registers
 * a driver. The driver has no kernel device, so the library makes no other call later. Calls that
 * would send a command to the kernel fail.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/export.h"
#include "abi/versions/private_names.h"
#include "base/reason.h"
#include "abi/verbs/refuse.h"

ADV_EXPORT int adv_ibv_private_command(void);
ADV_EXPORT void *adv_ibv_private_null(void);
ADV_EXPORT int adv_ibv_private_minus_one(void);
ADV_EXPORT unsigned int adv_ibv_private_zero(void);
ADV_EXPORT void adv_ibv_private_void(void);

/* A flag that provider libraries set. Initially false, as in rdma-core. */
ADV_EXPORT bool adv_ibv_private_disassociate;
bool adv_ibv_private_disassociate;

/* Reason and place that the log shows when a call of this file fails. */
#define NO_KERNEL_DEVICE                                                                           \
	"a provider library's command to the kernel: this device has no kernel driver"
#define PROVIDER "private node of libibverbs"

int adv_ibv_private_command(void)
{
	return adv_ibv_refuse(adv_reason(EOPNOTSUPP, NO_KERNEL_DEVICE), PROVIDER);
}

void *adv_ibv_private_null(void)
{
	return adv_ibv_refuse_object(adv_reason(EOPNOTSUPP, NO_KERNEL_DEVICE), PROVIDER);
}

int adv_ibv_private_minus_one(void)
{
	return adv_ibv_refuse_minus_one(adv_reason(EOPNOTSUPP, NO_KERNEL_DEVICE), PROVIDER);
}

unsigned int adv_ibv_private_zero(void)
{
	return 0;
}

void adv_ibv_private_void(void)
{
}

#define NODE_34(target, name) ADV_EXPORT_DEFAULT(target, name, "IBVERBS_PRIVATE_34")
#define NODE_57(target, name) ADV_EXPORT_OLD(target, name, "IBVERBS_PRIVATE_57")
#define NODE_59(target, name) ADV_EXPORT_OLD(target, name, "IBVERBS_PRIVATE_59")
#define NODE_64(target, name) ADV_EXPORT_OLD(target, name, "IBVERBS_PRIVATE_64")
#define NODE_65(target, name) ADV_EXPORT_OLD(target, name, "IBVERBS_PRIVATE_65")

/* Names that every private node has. */
#define COMMON(NODE)                                                                               \
	NODE(adv_ibv_private_zero, __ioctl_final_num_attrs);                                       \
	NODE(adv_ibv_private_void, __verbs_log);                                                   \
	NODE(adv_ibv_private_null, _verbs_init_and_alloc_context);                                 \
	NODE(adv_ibv_private_minus_one, ibv_read_ibdev_sysfs_file);                                \
	NODE(adv_ibv_private_disassociate, verbs_allow_disassociate_destroy);                      \
	NODE(adv_ibv_private_void, verbs_init_cq);                                                 \
	NODE(adv_ibv_private_null, verbs_open_device);                                             \
	NODE(adv_ibv_private_void, verbs_set_ops);                                                 \
	NODE(adv_ibv_private_void, verbs_uninit_context)

#define DMABUF_HEAP(NODE)                                                                          \
	NODE(adv_ibv_private_null, ibv_dmabuf_heap_alloc);                                         \
	NODE(adv_ibv_private_null, ibv_dmabuf_heap_cc_shared_init);                                \
	NODE(adv_ibv_private_void, ibv_dmabuf_heap_destroy);                                       \
	NODE(adv_ibv_private_void, ibv_dmabuf_heap_free)

#define COMMAND_34(name) NODE_34(adv_ibv_private_command, name);
#define COMMAND_57(name) NODE_57(adv_ibv_private_command, name);
#define COMMAND_59(name) NODE_59(adv_ibv_private_command, name);
#define COMMAND_64(name) NODE_64(adv_ibv_private_command, name);
#define COMMAND_65(name) NODE_65(adv_ibv_private_command, name);

/* clang-format off */
COMMON(NODE_34);
NODE_34(adv_ibv_private_void, verbs_register_driver_34);
ADV_PRIVATE_COMMANDS(COMMAND_34)

COMMON(NODE_57);
NODE_57(adv_ibv_private_void, verbs_register_driver_57);
ADV_PRIVATE_COMMANDS(COMMAND_57)

COMMON(NODE_59);
NODE_59(adv_ibv_private_void, verbs_register_driver_59);
ADV_PRIVATE_COMMANDS(COMMAND_59)
ADV_PRIVATE_COMMANDS_FROM_59(COMMAND_59)

COMMON(NODE_64);
DMABUF_HEAP(NODE_64);
NODE_64(adv_ibv_private_void, verbs_register_driver_64);
ADV_PRIVATE_COMMANDS(COMMAND_64)
ADV_PRIVATE_COMMANDS_FROM_59(COMMAND_64)

COMMON(NODE_65);
DMABUF_HEAP(NODE_65);
NODE_65(adv_ibv_private_void, verbs_register_driver_65);
ADV_PRIVATE_COMMANDS(COMMAND_65)
ADV_PRIVATE_COMMANDS_FROM_59(COMMAND_65)
ADV_PRIVATE_COMMANDS_FROM_65(COMMAND_65)
/* clang-format on */
