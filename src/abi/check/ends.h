/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ends of connections between checked processes of one user on one machine: a file in which each
 * process enters the attributes of its queue pairs, so that the other end can compare them. The
 * file is opened, locked, and closed in each call, so that nothing depends on the descriptors of
 * the program. The other processes of the user can write anything into it. All calls need the lock
 * of report.h, or a process without other threads.
 */
#ifndef ADV_ABI_CHECK_ENDS_H
#define ADV_ABI_CHECK_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#define ADV_CHECK_ENDS_MOST 1024 /* entries; further ends are not entered */
#define ADV_CHECK_ENDS_PATH 64	 /* bytes of the file's name */

/* One end of a connection. Numbers are in host order. */
struct adv_check_end {
	uint64_t net;	  /* inode of the network namespace; 0: the entry is free */
	uint64_t pids;	  /* inode of the PID namespace */
	uint64_t started; /* start of the process, as in /proc/PID/stat */
	uint64_t at;	  /* when the attributes were set, ns of CLOCK_MONOTONIC */
	int32_t pid;
	uint32_t number; /* QP number */
	uint32_t peer;	 /* QP number of the other end */
	uint32_t type;	 /* enum ibv_qp_type */
	uint32_t known;	 /* enum ibv_qp_attr_mask: attributes that follow and are set */
	uint32_t sq_psn;
	uint32_t rq_psn;
	uint8_t path_mtu; /* enum ibv_mtu */
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t zero;
	char program[16]; /* name of the process; may lack the terminating 0 */
};

/* Writes the name of the present user's file. */
void adv_check_ends_path(char path[ADV_CHECK_ENDS_PATH]);

/* Enters `own`, or replaces its entry; fills in its members net, pids, started, at and pid. Returns
 * true if the other end is entered, by a process of the same namespaces that still runs: *other is
 * that end. */
bool adv_check_ends_meet(const char *path, struct adv_check_end *own, struct adv_check_end *other);

/* Removes the entry of a queue pair of this process. */
void adv_check_ends_leave(const char *path, uint32_t number);

/* Removes the file if no running process has an entry. */
void adv_check_ends_tidy(const char *path);

#endif
