/** A phrase that the project's text avoids. */
export interface Avoided {
  /** Examples of it. */
  readonly shown: string;
  /** What to write instead. */
  readonly write: string;
  /** A regular expression without word boundaries at its ends. A space also matches a line break inside a comment. */
  readonly pattern: string;
}

const PERSON = '(?:who|anyone|user|operator|reader|caller|person|people|sender|maintainer|attacker)';
/** A verb in the third person, unless its subject is a person. */
const verb = (verbs: string): string => `(?<!\\b${PERSON} )(?:${verbs})`;

/** The words and phrases that `npm run words` finds. When two match at one place, the first one counts. */
export const AVOIDED: readonly Avoided[] = [
  { shown: 'mend', write: 'fix, repair', pattern: 'mend(?:s|ed|ing)?' },
  { shown: 'cannot be had, to be had', write: 'is not available, available', pattern: 'be had' },
  {
    shown: 'told apart, tells apart',
    write: 'is distinguished, distinguishes',
    pattern: 'told apart|tells? (?:\\w+ ){0,3}apart',
  },
  { shown: 'is told', write: 'receives, is given', pattern: '(?:is|are|was|were|be|been|being) told' },
  { shown: 'asked wrongly', write: 'bad usage', pattern: 'asked wrongly' },
  {
    shown: 'is asked',
    write: 'receives a request, is requested',
    pattern: '(?:is|are|was|were|be|been|being) asked',
  },
  { shown: 'whoever', write: 'anyone who, the caller', pattern: 'whoever' },
  { shown: 'wants to know', write: 'needs', pattern: 'wants? to know' },
  { shown: 'says so', write: 'reports it', pattern: '(?:says?|said|saying) so' },
  { shown: 'poison', write: 'undecodable message', pattern: 'poison(?:s|ed|ous)?' },
  {
    shown: 'is away (a store, a server)',
    write: 'is unavailable',
    pattern: '(?:is|are|was|were|be|been|stays?|stayed) away|(?:store|broker|database|server)s? away',
  },
  { shown: 'a hand, a voice (of code)', write: 'client, log', pattern: 'a (?:hand|voice)' },
  { shown: 'somebody else (a process)', write: 'another process, another user', pattern: 'somebody else' },
  { shown: 'speaks for', write: 'represents', pattern: 'speaks? for' },
  { shown: 'behind our back', write: 'without notice', pattern: 'behind \\w+ backs?' },
  { shown: 'by hand', write: 'manually', pattern: 'by hand' },
  { shown: 'of its own', write: 'its own, a separate', pattern: 'of (?:its|their) own' },
  { shown: 'stands in', write: 'replaces, is in', pattern: '(?:stands?|stood) in' },
  { shown: 'lets … through', write: 'allows', pattern: '(?:lets?|letting) (?:\\w+ ){1,6}through' },
  { shown: 'in one go', write: 'at once', pattern: 'in one go' },
  { shown: 'gets on with', write: 'continues', pattern: '(?:gets?|got) on with' },
  { shown: 'no sooner', write: 'not before', pattern: 'no sooner' },
  { shown: 'what is whole', write: 'complete entries', pattern: 'what is whole' },
  { shown: 'by name of', write: 'named', pattern: 'by name of' },
  { shown: 'a named skip', write: 'the test is skipped, with the reason', pattern: 'named skips?' },
  { shown: 'DESIGN section 5', write: 'the rule itself', pattern: '(?-i:DESIGN)(?:\\.md)?(?: section)?' },
  {
    shown: 'thereby, hence, whence, whilst, upon, lest, albeit, anew',
    write: 'so, while, on, to prevent, although, again',
    pattern: 'thereby|hence|whence|whilst|upon|lest|albeit|anew',
  },
  {
    shown: 'a process says, tells',
    write: 'reports, prints, sends, contains, shows',
    pattern: verb('says|tells'),
  },
  {
    shown: 'a process knows, believes, thinks, hears',
    write: 'has, finds, assumes, receives',
    pattern: verb('knows|believes|thinks|hears'),
  },
  { shown: 'a process wants, asks', write: 'needs, requests, reads', pattern: verb('wants(?!=)|asks') },
  { shown: 'a process forgets', write: 'deletes, removes', pattern: verb('forgets') },
];
