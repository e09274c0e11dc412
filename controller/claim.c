#include "controller/claim.h"

int name_claim(const struct name_claim *claim, struct journal_ref *ref, bool *fresh,
               struct error *err)
{
    for (int tries = 0;; tries++) {
        if (journal_claim(claim->journal, claim->call, claim->directory, claim->name,
                          claim->pool_id, ref, fresh, err) < 0)
            return -1;
        if (claim->follow(claim->object, ref->image_pool_id, err) == 0)
            return 0;
        if (err->status != STATUS_NOT_FOUND || tries > 0)
            return -1;
        error_clear(err);
        if (journal_release_name(claim->journal, claim->call, claim->directory, claim->name,
                                 ref->image_pool_id, &ref->uuid, NULL, err) < 0)
            return -1;
    }
}
