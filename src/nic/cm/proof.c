/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records the addresses that have proved that they receive messages of this CM. Any host can send a
 * request with a forged source address, and the CM retransmits its answer. So the CM limits the
 * MADs to an address that is not proven: at most CREDIT times the MADs from that address (as in RFC
 * 9000, 8.1). It counts MADs, because all MADs have one length. The proof is a message that
 * contains a communication id of this CM, because only a receiver of the CM's messages can know it.
 * The proof is valid for the address for PROOF_NS.
 */
#include "nic/cm/proof.h"

#include "nic/cm/find.h"
#include "nic/cm/hash.h"

#define CREDIT	   3
#define CREDIT_MAX 255
#define PROOF_NS   UINT64_C(600000000000)
/* The last permitted transmission is reserved for this try, some seconds after the first. By then
 * the cause of earlier losses is most likely over. */
#define LATE_TRY 5

static struct adv_cm_proof *proof_of(struct adv_cm *cm, const struct adv_gid *gid)
{
	return &cm->proof[adv_cm_hash_gid(cm->hash_key, gid, 0, 0) % ADV_CM_PROOFS];
}

bool adv_cm_proven(struct adv_cm *cm, uint64_t now, const struct adv_gid *gid)
{
	const struct adv_cm_proof *proof = proof_of(cm, gid);

	return now < proof->until && adv_gid_equal(&proof->gid, gid);
}

void adv_cm_proof_take(struct adv_cm *cm, uint64_t now, const struct adv_rx_meta *meta,
		       const struct adv_cm_packet *packet)
{
	uint32_t number = adv_cm_numbers_of(packet).receiver;
	struct adv_cm_id *id = number ? adv_cm_id_find(cm, meta, number) : NULL;

	if (!id)
		return;
	if (!adv_cm_proven(cm, now, &meta->sgid))
		id->was_unproven = true;
	id->proven = true;
	id->refused = false;
	*proof_of(cm, &meta->sgid) =
		(struct adv_cm_proof){.gid = meta->sgid, .until = now + PROOF_NS};
}

void adv_cm_id_add_credit(struct adv_cm_id *id)
{
	id->credit = id->credit < CREDIT_MAX - CREDIT ? id->credit + CREDIT : CREDIT_MAX;
}

/* True if the limit does not apply: the peer is proven, or this end chose the peer's address itself
 * by connecting. */
static bool is_free(const struct adv_cm_id *id)
{
	return id->active || id->proven;
}

bool adv_cm_id_pay(struct adv_cm_id *id)
{
	if (is_free(id))
		return true;
	if (!id->credit)
		return false;
	id->credit--;
	return true;
}

bool adv_cm_id_pay_again(struct adv_cm_id *id, uint64_t now)
{
	/* Another connection may have proved the address. */
	if (!is_free(id) && adv_cm_proven(id->cm, now, &id->route.path.dgid))
		id->proven = true;
	if (!is_free(id) && id->credit == 1 && id->tries < LATE_TRY)
		return false;
	return adv_cm_id_pay(id);
}
