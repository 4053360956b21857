/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How adverbd starts, with its estate, and how it ends. */
#ifndef ADV_RUNTIME_DAEMON_DAEMON_H
#define ADV_RUNTIME_DAEMON_DAEMON_H

#include <signal.h>

#include "runtime/keeper/estate.h"

/* Returns the number of descriptors that this process may have for clients and their objects:
 * without its own descriptors and the group's sockets. */
unsigned adv_daemon_descriptors(void);

/*
 * Binds the name and the port and makes the shared tables. Returns:
 *  - 0;
 *  - EALREADY: another daemon holds the name;
 *  - EBUSY: a daemon has died, and its surviving clients start another daemon;
 *  - another errno.
 * If it fails, it writes a line of text to why[]. Sockets and tables made so far exist until the
 * process exits; adv_daemon_drop_names() closes those with names.
 */
int adv_daemon_create(struct adv_daemon *d, char *why, size_t why_len);

/* As adv_daemon_create(), but continues with the estate that a client kept. `queue` is a descriptor
 * of the queue end of the estate's carrier (runtime/keeper/carrier.h). */
int adv_daemon_adopt(struct adv_daemon *d, int queue, char *why, size_t why_len);

/* Closes the sockets with names. After a failed start call it before the report, so that a client
 * that has heard of the failure does not find the names. */
void adv_daemon_drop_names(struct adv_daemon *d);

/* Binds the abstract name, which only one daemon can hold. Part of adv_daemon_create() and
 * adv_daemon_adopt(). Returns 0, or EALREADY or another errno with text in why[]. */
int adv_daemon_take_name(struct adv_daemon *d, char *why, size_t why_len);
/* Listens, and sets d->slots_most. Returns 0, or errno with text in why[]. */
int adv_daemon_open(struct adv_daemon *d, char *why, size_t why_len);
/* Makes the shared tables, empty. Returns 0, or errno with text in why[]. */
int adv_daemon_make_tables(struct adv_daemon *d, char *why, size_t why_len);

/* Reports the result of the start to the starting process, once: one of ADV_START_*, and the reason
 * for FAILED and WAIT. */
void adv_daemon_report(struct adv_daemon *d, char verdict, const char *why);

/* Reports FAILED with the text of this errno, and logs it: the tables are made, but the daemon
 * cannot begin to serve. */
void adv_daemon_cannot_start(struct adv_daemon *d, int error);

/* Empties the carrier, closes the group's sockets, and then releases the name. Because of this
 * order, a process that can bind the name can bind the port too. If the ledger's `handed` is set,
 * the carrier keeps its contents. */
void adv_daemon_release(struct adv_daemon *d);

/* Closes all descriptors except the standard ones, the estate's, `also` and the pipe to the
 * starting process. */
void adv_daemon_close_others(const struct adv_daemon *d, int also);

/* Fills the set of signals that end the daemon: SIGTERM, SIGINT. */
void adv_daemon_signals(sigset_t *set);

#endif
