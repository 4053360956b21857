/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names, ids and capabilities of the device, for verbs and for the sysfs of `adverb run`. */
#ifndef ADV_RUNTIME_IDENTITY_IDENTITY_H
#define ADV_RUNTIME_IDENTITY_IDENTITY_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#include "base/version.h"

#define ADV_DEVICE_NAME "adverb0" /* of the only device, see rails.h */
#define ADV_FW_VER	ADV_VERSION

/* An ID that belongs to no vendor (locally administered OUI), so that no program mistakes the
 * device for a known card. */
#define ADV_VENDOR_ID	   0x0adbe7
#define ADV_VENDOR_PART_ID 0xad01
#define ADV_HW_VER	   1

#define ADV_PHYS_LINK_UP   5
#define ADV_PHYS_DISABLED  3

/* IBTA's PortInfo capability mask: CM supported, GIDs are IP addresses. */
#define ADV_PORT_CAP_FLAGS (1u << 16 | 1u << 26)

/* enum ibv_device_cap_flags. */
#define ADV_DEVICE_CAP_FLAGS                                                                       \
	(IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_CURR_QP_STATE_MOD | \
	 IBV_DEVICE_XRC | IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |                  \
	 IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_SRQ_RESIZE)

/* What the device speaks. */
enum adv_transport {
	ADV_TRANSPORT_ROCE,
	ADV_TRANSPORT_IWARP,
	ADV_TRANSPORTS,
	ADV_TRANSPORT_UNKNOWN =
		ADV_TRANSPORTS, /* the environment names none: the device cannot be opened */
};

/* The names of the transports, in the order of the enum, for messages. */
#define ADV_TRANSPORT_NAMES    "roce, iwarp"
#define ADV_TRANSPORT_VARIABLE "ADVERB_TRANSPORT"

/* Returns the transport of this name. -1: there is none. */
int adv_transport_named(const char *name);
/* Returns the transport of this process, which the environment variable chooses; RoCE if it is not
 * set. The first call decides. */
enum adv_transport adv_transport(void);

#define ADV_UVERBS_NAME_LEN 16

/* Writes "uverbsN" to name, for the device with this index: no device of the kernel uses that
 * number at present. */
void adv_uverbs_name(unsigned index, char name[ADV_UVERBS_NAME_LEN]);

/* Returns the port's speed in Mbit/s for an Ethernet interface that reports `mbps`. 0: the
 * interface reports no speed; the result is then 100,000. */
uint32_t adv_identity_mbps(uint32_t mbps);

/*
 * Sets the width and the lane speed that the kernel shows for an Ethernet port of `mbps` Mbit/s (0:
 * not known), encoded as in IBTA's PortInfo. width: 1 is 1x, 2 is 4x, 16 is 2x. speed of a lane, in
 * Gbit/s: 1 is 2.5, 8 is 10, 32 is 25, 64 is 50, 128 is 100.
 */
void adv_identity_speed(uint32_t mbps, uint8_t *width, uint8_t *speed);

/* Returns the speed that the kernel shows for such a port, Mbit/s: all lanes of
 * adv_identity_speed().
 */
uint32_t adv_identity_shown_mbps(uint32_t mbps);

#endif
