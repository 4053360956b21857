/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tables of the port that the daemon publishes in shared, read-only pages: GIDs and P_Keys. The
 * sequence number is odd while the daemon writes; the daemon is the only writer. After them follows
 * a table of this machine's senders and their UDP ports.
 */
#ifndef ADV_RUNTIME_CONTROL_GID_TABLE_H
#define ADV_RUNTIME_CONTROL_GID_TABLE_H

#include <stdatomic.h>
#include <stdint.h>

#include "runtime/control/protocol.h"
#include "nic/wire/packet.h"
#include "nic/wire/pkey.h"

#define ADV_GID_TABLE_ENTRIES 256

enum adv_gid_type { ADV_GID_ROCE_V2 = 1, ADV_GID_ROCE_V1 = 2 };

struct adv_gid_entry {
	struct adv_gid gid;
	uint32_t ifindex;
	uint32_t if_mtu;     /* MTU of the interface, bytes */
	uint32_t path_mtu;   /* largest IBTA MTU that fits if_mtu, bytes: 256..4096 */
	uint32_t speed_mbps; /* 0: not known */
	uint8_t type;	     /* enum adv_gid_type */
	uint8_t loopback;
	uint8_t mac[6];
	char ifname[16];
};

struct adv_gid_table {
	_Atomic uint32_t sequence;
	uint32_t count;
	uint32_t port_active;	     /* 0: no interface is usable */
	uint32_t active_mtu;	     /* bytes; of entry 0's interface */
	uint64_t node_guid;	     /* in network byte order, like ibv_get_device_guid() */
	struct adv_pkey_table pkeys; /* never changes while adverbd runs */
	struct adv_gid_entry entry[ADV_GID_TABLE_ENTRIES];
};

/* Both arrays are indexed by the prefix of a QP number (nic/wire/slot.h). Each entry is read and
 * written on its own. */
struct adv_senders {
	/* The UDP port from which the process sends within this machine; 0: none. The entry remains
	 * for some seconds after the process has ended, as its last packets may be received late.
	 */
	_Atomic uint16_t port[ADV_PREFIXES];
	/* The slot that has these QP numbers; 0: none. */
	_Atomic uint16_t home[ADV_PREFIXES];
};

/* The memory behind the daemon's descriptor. */
struct adv_gid_page {
	struct adv_gid_table table;
	struct adv_senders senders;
};

/* Copies the shared table consistently. Any thread may call it. False if the daemon wrote the table
 * during each of a bounded number of attempts. */
bool adv_gid_table_read(const struct adv_gid_table *shared, struct adv_gid_table *copy);

/* Changes a copy of the table to that of an iWARP device: as with Linux's siw, it has one GID,
 * which begins with the MAC address of the first interface; with the node GUID if that has none. */
void adv_gid_table_to_mac(struct adv_gid_table *table);

#endif
