/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is true of an engine and its objects whenever no call is in progress. Tests, simulations and
 * fuzzers ask after each step, and a device after each call if ADVERB_PARANOID is set.
 *
 * Each function returns the first invariant that the object does not keep, as a sentence about it,
 * or NULL. It changes nothing.
 */
#ifndef ADV_NIC_ENGINE_INVARIANTS_H
#define ADV_NIC_ENGINE_INVARIANTS_H

struct adv_cq;
struct adv_engine;
struct adv_qp;
struct adv_srq;

const char *adv_qp_check(const struct adv_qp *qp);
const char *adv_cq_check(const struct adv_cq *cq);
const char *adv_srq_check(const struct adv_srq *srq);
/* Also checks all of the engine's queue pairs, CQs and SRQs. */
const char *adv_engine_check(const struct adv_engine *e);

#endif
