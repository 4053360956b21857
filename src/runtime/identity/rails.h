/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rails of a process: the RDMA devices that it sees. Each rail has a name and a part of the
 * machine's GID table: all addresses, those of an interface, or some addresses. Rails may share
 * addresses.
 *
 * ADVERB_DEVICES chooses them for a process and what it starts (`adverb run --devices`); else
 * adverbd's environment does for all its programs; else there is one rail, "adverb0", with all
 * addresses. The variable has items with a comma in between:
 *	NAME=INTERFACE	      the addresses of an interface
 *	NAME=ADDRESS+ADDRESS  these addresses
 *	NAME=*		      all addresses
 *	INTERFACE	      "adverbN", with N from 0 in the order of the items
 * or is one word:
 *	all		      "adverbN" for each interface that has addresses at present
 *	a number N	      "adverb0" to "adverbN-1", each with all addresses
 */
#ifndef ADV_RUNTIME_IDENTITY_RAILS_H
#define ADV_RUNTIME_IDENTITY_RAILS_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/control/control.h"
#include "runtime/control/counters.h"
#include "runtime/control/gid_table.h"
#include "runtime/identity/identity.h"

#define ADV_RAILS_MAX	   32
#define ADV_RAIL_NAME_LEN  ADV_CONTROL_DEVICE_LEN
#define ADV_RAIL_ADDRESSES 8
#define ADV_RAILS_TEXT	   4096 /* longest text, with the NUL */
#define ADV_RAILS_WHY	   320	/* room for a reason */
#define ADV_RAILS_VARIABLE "ADVERB_DEVICES"

struct adv_rail {
	char name[ADV_RAIL_NAME_LEN];
	char ifname[16];	/* "": by address */
	unsigned address_count; /* 0, and no ifname: all addresses */
	struct adv_gid address[ADV_RAIL_ADDRESSES];
	unsigned index; /* in the list */
};

struct adv_rail_list {
	unsigned count; /* at least 1 */
	struct adv_rail rail[ADV_RAILS_MAX];
};

/* Reads a text as described above. table: adverbd's, for "all". False: the text is not valid, with
 * the reason in why[]. */
bool adv_rail_list_parse(struct adv_rail_list *rails, const char *text,
			 const struct adv_gid_table *table, char *why, size_t why_len);

/* Writes the items of the rails to text[], so that it can be parsed without a table. False: there
 * is no room. */
bool adv_rail_list_print(const struct adv_rail_list *rails, char *text, size_t len);

/* Returns the rails of this process, in memory that stays. table: adverbd's. The first call
 * decides. NULL: the environment variable is not valid, with the reason in why[]. Any thread. */
const struct adv_rail_list *adv_rail_list_get(const struct adv_gid_table *table, char *why,
					      size_t why_len);

/* Reads the counters of each rail. The only rail has those of all programs, also of those that
 * earlier daemons served. Blocks. 0 or errno, as adv_control_counters(). */
int adv_rail_list_count(struct adv_control *c, const struct adv_rail_list *rails,
			struct adv_counters counters[ADV_RAILS_MAX]);

/* True if a rail of this process has this name, of `len` bytes. Any thread. */
bool adv_rail_list_have(const char *name, size_t len);

/* Returns the node GUID of a rail, in network byte order. table: adverbd's. The rail that is named
 * like the only device of a machine has the machine's GUID. */
uint64_t adv_rail_guid(const struct adv_rail *rail, const struct adv_gid_table *table);

/* Changes a copy of adverbd's table to that of a rail: its addresses, port and node GUID. */
void adv_rail_change_table(const struct adv_rail *rail, struct adv_gid_table *table);

/* Makes the table of a rail with the versions of RoCE that this process uses. machine: adverbd's.
 */
void adv_rail_table(const struct adv_rail *rail, const struct adv_gid_table *machine,
		    struct adv_gid_table *table);

/* True if an entry of adverbd's table belongs to the rail. */
bool adv_rail_has(const struct adv_rail *rail, const struct adv_gid_entry *entry);

#endif
