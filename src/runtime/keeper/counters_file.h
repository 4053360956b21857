/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The file in which adverbd leaves the port's counters to the next adverbd of the network
 * namespace, so that they outlive programs and daemons, as a card's do. Each user has one file, in
 * the first writable folder of runtime/identity/sysfs_root.h. It has a record for each of the 64
 * namespaces that were used last. A record is valid until the machine boots again.
 */
#ifndef ADV_RUNTIME_KEEPER_COUNTERS_FILE_H
#define ADV_RUNTIME_KEEPER_COUNTERS_FILE_H

#include <stdint.h>

#include "runtime/control/protocol.h"

/* Adds the counters of this network namespace to sum[]. Changes nothing if there are none, or if
 * the file is damaged, of an earlier boot or of another user. socket: any socket of the namespace.
 */
void adv_counters_file_load(int socket, uint64_t sum[ADV_COUNTERS]);

/* Writes the counters of this network namespace. A failure is only logged. Blocks for 20 ms at
 * most, while another daemon writes. */
void adv_counters_file_save(int socket, const uint64_t value[ADV_COUNTERS]);

#endif
