/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * P_Keys and P_Key tables (IBTA 10.9). The low 15 bits of a P_Key name a partition. The top bit is
 * set for a full member of the partition, and clear for a limited one. P_Keys are in host byte
 * order.
 */
#ifndef ADV_NIC_WIRE_PKEY_H
#define ADV_NIC_WIRE_PKEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADV_PKEY_DEFAULT   0xffffu /* full member of the default partition */
#define ADV_PKEY_FULL	   0x8000u
#define ADV_PKEY_BASE	   0x7fffu
#define ADV_PKEYS_MAX	   128 /* entries of a table */

#define ADV_PKEYS_VARIABLE "ADVERB_PKEYS" /* environment variable with the table of adverbd */

/* The table of a port. It has no empty entries and no equal ones. It may have a partition twice,
 * with full and with limited membership. */
struct adv_pkey_table {
	uint32_t count; /* at least 1 in a table in use */
	uint16_t pkey[ADV_PKEYS_MAX];
};

/* True if a packet with P_Key a may reach a queue pair with P_Key b: both are of one partition, and
 * at least one is a full member (IBTA 10.9.3). */
static inline bool adv_pkey_matches(uint16_t a, uint16_t b)
{
	return ((a ^ b) & ADV_PKEY_BASE) == 0 && ((a | b) & ADV_PKEY_FULL) && (a & ADV_PKEY_BASE);
}

/* Makes the table of a port without configuration: ADV_PKEY_DEFAULT only. */
void adv_pkey_table_default(struct adv_pkey_table *table);

/* Returns the index of the entry that equals the P_Key; -1: none does. */
int adv_pkey_index(const struct adv_pkey_table *table, uint16_t pkey);

/* Returns the index of an entry that matches the P_Key of a packet, a full member if there is one;
 * -1: none matches. */
int adv_pkey_match_index(const struct adv_pkey_table *table, uint16_t pkey);

/*
 * Reads a table: 1 to ADV_PKEYS_MAX different P_Keys, separated by commas. Each is a number as of
 * strtoul(3); the numbers 0 and 0x8000 name no partition. Returns true, or false with the reason in
 * why[]; *table is then unspecified.
 */
bool adv_pkey_table_parse(const char *text, struct adv_pkey_table *table, char *why,
			  size_t why_len);

#endif
